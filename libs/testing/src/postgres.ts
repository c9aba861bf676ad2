import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePort } from './free-port.ts'
import {
  childIdentities,
  type ExitStatus,
  guardedCommand,
  type ManagedProcess,
  processIdentity,
  type SystemUser,
  spawnManaged,
} from './managed-process.ts'
import { type PostgresBinaries, postgresBinaries, postgresUser } from './postgres-binaries.ts'
import { temporaryDirectory } from './temporary-directory.ts'
import { waitFor } from './wait-for.ts'

const run = promisify(execFile)

export interface PostgresOptions {
  /** Default: a temporary one. An existing cluster in it is used; its password stands beside it. */
  dataDir?: string
  port?: number
  /** Default true. Off is faster and still survives kill -9, but no power failure: for tests. */
  fsync?: boolean
  onLine?: (line: string) => void
}

export interface PostgresServer {
  /** Of a database in this cluster, as its superuser. */
  url(database: string): string
  readonly adminUrl: string
  readonly port: number
  /** Of the running postmaster: it changes with a restart. */
  readonly pid: number
  readonly running: boolean
  readonly exited: Promise<ExitStatus>
  readonly dataDir: string
  logs(): string
  stop(): Promise<void>
  /** SIGKILL to the postmaster. Its backends end by themselves, which is awaited. */
  kill(): Promise<void>
  restart(): Promise<void>
  pause(): void
  resume(): void
}

const SUPERUSER = 'postgres'
const START_TIMEOUT_MS = 30_000
const CONNECT_TIMEOUT_MS = 2_000
const START_ATTEMPTS = 5
/** Its last checkpoint syncs all that is dirty, on a disk that others may be busy with. */
const STOP_DEADLINE_MS = 60_000
const SHARED_MEMORY_TIMEOUT_MS = 10_000
const SHARED_MEMORY_RETRY_MS = 200

interface Cluster {
  binaries: PostgresBinaries
  user: SystemUser | undefined
  dataDir: string
  port: number
  password: string
  options: PostgresOptions
}

/** What initdb and postgres need of the environment: libraries lie beside them, the rest is fixed. */
const environment = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' }

const guard = (user: SystemUser | undefined) => (user === undefined ? {} : { user })

const passwordFile = (dataDir: string): string => `${dataDir}.password`

/** Makes the cluster, aside first: an initdb that was cut short leaves nothing that looks whole. */
const initialise = async (
  binaries: PostgresBinaries,
  user: SystemUser | undefined,
  dataDir: string,
): Promise<void> => {
  const draft = `${dataDir}.new`
  const secret = passwordFile(dataDir)
  rmSync(draft, { recursive: true, force: true })
  mkdirSync(draft, { mode: 0o700 })
  writeFileSync(secret, randomBytes(24).toString('hex'), { mode: 0o600 })
  if (user !== undefined) for (const path of [draft, secret]) chownSync(path, user.uid, user.gid)
  const settings = ['-D', draft, '-U', SUPERUSER, '--encoding=UTF8', '--locale=C']
  const access = ['--auth=scram-sha-256', `--pwfile=${secret}`, '--no-sync', '--no-instructions']
  const initdb = guardedCommand(binaries.initdb, [...settings, ...access], guard(user))
  await run(initdb.command, initdb.args, { env: environment, cwd: '/' })
  renameSync(draft, dataDir)
}

// The lock file of a server that was killed names a pid which may by now be someone else's, after
// a reboot or in a new container; PostgreSQL would then refuse to start.
const clearStaleLock = (dataDir: string): void => {
  const lock = join(dataDir, 'postmaster.pid')
  if (!existsSync(lock)) return
  const pid = Number(readFileSync(lock, 'utf8').split('\n')[0])
  if (processIdentity(pid) === undefined) return
  const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  if (command.includes(dataDir)) throw new Error(`PostgreSQL already runs on ${dataDir} (${pid})`)
  // Empty while a process is ending: that one may be the postmaster, which PostgreSQL waits for.
  if (command[0] !== '') rmSync(lock)
}

const clusterUrl = ({ password, port }: Cluster, database: string): string =>
  `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`

const accepts = async (cluster: Cluster): Promise<boolean> => {
  const client = new pg.Client({
    connectionString: clusterUrl(cluster, 'postgres'),
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  })
  // A server that stops under an idle client reports it here; unhandled, it would end this process.
  client.on('error', () => {})
  try {
    await client.connect()
    return true
  } finally {
    await client.end().catch(() => {})
  }
}

const spawnPostmaster = ({ binaries, user, dataDir, port, options }: Cluster): ManagedProcess => {
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: 200,
    shared_buffers: '64MB',
    ...(options.fsync === false ? { fsync: 'off', full_page_writes: 'off' } : {}),
  }
  const { onLine } = options
  return spawnManaged({
    name: 'postgres',
    command: binaries.postgres,
    args: ['-D', dataDir, ...Object.entries(settings).flatMap(([k, v]) => ['-c', `${k}=${v}`])],
    env: environment,
    cwd: '/',
    // Fast shutdown: rolls back what is open, and leaves nothing to recover.
    deathSignal: 'SIGINT',
    ...guard(user),
    ...(onLine === undefined ? {} : { onLine }),
  })
}

const launchOnce = async (cluster: Cluster): Promise<ManagedProcess> => {
  clearStaleLock(cluster.dataDir)
  const postmaster = spawnPostmaster(cluster)
  const isUp = async (): Promise<boolean> => !postmaster.running || (await accepts(cluster))
  try {
    await waitFor(isUp, { timeout_ms: START_TIMEOUT_MS, what: 'PostgreSQL to accept connections' })
  } catch (error) {
    await postmaster.kill()
    throw new Error(`PostgreSQL did not start:\n${postmaster.logs()}`, { cause: error })
  }
  if (!postmaster.running) {
    await postmaster.exited
    throw new Error(`PostgreSQL ended at its start:\n${postmaster.logs()}`)
  }
  return postmaster
}

const says = (error: unknown, text: string): boolean =>
  error instanceof Error && error.message.includes(text)

const launch = async (cluster: Cluster): Promise<ManagedProcess> => {
  const deadline = performance.now() + SHARED_MEMORY_TIMEOUT_MS
  for (;;) {
    try {
      return await launchOnce(cluster)
    } catch (error) {
      // The backends of a killed postmaster need a moment to notice; until then they hold this.
      if (!says(error, 'shared memory block') || performance.now() > deadline) throw error
      await sleep(SHARED_MEMORY_RETRY_MS)
    }
  }
}

/** A PostgreSQL cluster of one's own. It never outlives this process. */
export const startPostgres = async (options: PostgresOptions = {}): Promise<PostgresServer> => {
  const binaries = postgresBinaries()
  const dataDir = resolve(options.dataDir ?? join(temporaryDirectory('postgres'), 'data'))
  mkdirSync(dirname(dataDir), { recursive: true })
  const user = postgresUser([dirname(dataDir), dirname(binaries.postgres)])
  if (!existsSync(join(dataDir, 'PG_VERSION'))) await initialise(binaries, user, dataDir)
  const password = readFileSync(passwordFile(dataDir), 'utf8').trim()
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await freePort())
    const cluster: Cluster = { binaries, user, dataDir, port, password, options }
    try {
      return serverHandle(cluster, await launch(cluster))
    } catch (error) {
      // Between finding a free port and listening on it, another test process can take it.
      const canRetry = options.port === undefined && attempt < START_ATTEMPTS
      if (!canRetry || !says(error, 'could not bind')) throw error
    }
  }
}

const serverHandle = (cluster: Cluster, first: ManagedProcess): PostgresServer => {
  let postmaster = first
  const stop = async (): Promise<void> => {
    await postmaster.stop({ signal: 'SIGINT', deadline_ms: STOP_DEADLINE_MS })
  }
  return {
    url: (database) => clusterUrl(cluster, database),
    adminUrl: clusterUrl(cluster, 'postgres'),
    port: cluster.port,
    get pid() {
      return postmaster.pid
    },
    get running() {
      return postmaster.running
    },
    get exited() {
      return postmaster.exited
    },
    dataDir: cluster.dataDir,
    logs: () => postmaster.logs(),
    stop,
    kill: async () => {
      const backends = childIdentities(postmaster.pid)
      await postmaster.kill()
      const allEnded = () => [...backends].every(([pid, id]) => processIdentity(pid) !== id)
      await waitFor(allEnded, { timeout_ms: STOP_DEADLINE_MS, what: 'the backends to end' })
    },
    restart: async () => {
      await stop()
      postmaster = await launch(cluster)
    },
    pause: () => postmaster.pause(),
    resume: () => postmaster.resume(),
  }
}
