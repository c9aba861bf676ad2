import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { type ManagedProcess, spawnManaged } from './managed-process.ts'
import { knowsSyncAlways, type NatsBinary, natsBinary } from './nats-binary.ts'
import { temporaryDirectory } from './temporary-directory.ts'
import { waitFor } from './wait-for.ts'

export interface NatsOptions {
  /** Default: the newest there is, or what GUILDHALL_TEST_NATS names. */
  binary?: NatsBinary
  port?: number
  /** Default: a temporary directory of its own. Give one to keep data across servers. */
  storeDir?: string
  /** More configuration, appended as it is (accounts, users, limits ...). */
  conf?: string
  /** In bytes. */
  maxPayload?: number
  /** Sync to disk before each acknowledgement, where the server knows it. Slow; off by default. */
  syncAlways?: boolean
}

export interface NatsServer {
  readonly url: string
  readonly monitorUrl: string
  readonly port: number
  /** Of the running process: it changes with a restart. */
  readonly pid: number
  readonly running: boolean
  readonly storeDir: string
  readonly version: string
  logs(): string
  stop(): Promise<void>
  /** SIGKILL. */
  kill(): Promise<void>
  /** Ends it if it runs, and starts it on the same port and store. */
  restart(): Promise<void>
  pause(): void
  resume(): void
}

const MAX_PAYLOAD_BYTES = 8 * 1024 * 1024
const START_TIMEOUT_MS = 15_000
const START_ATTEMPTS = 5

interface Settings {
  binary: { path: string; version: string }
  port: number
  monitorPort: number
  storeDir: string
  confFile: string
  options: NatsOptions
}

const writeConf = ({ binary, port, monitorPort, storeDir, confFile, options }: Settings): void => {
  const sync = options.syncAlways === true && knowsSyncAlways(binary.version)
  const lines = [
    `listen: "127.0.0.1:${port}"`,
    `http: "127.0.0.1:${monitorPort}"`,
    `max_payload: ${options.maxPayload ?? MAX_PAYLOAD_BYTES}`,
    'jetstream {',
    `  store_dir: ${JSON.stringify(storeDir)}`,
    ...(sync ? ['  sync_interval: always'] : []),
    '}',
    options.conf ?? '',
  ]
  writeFileSync(confFile, `${lines.join('\n')}\n`)
}

const launch = async ({ binary, confFile, monitorPort }: Settings): Promise<ManagedProcess> => {
  const server = spawnManaged({
    name: 'nats-server',
    command: binary.path,
    args: ['-c', confFile],
  })
  const isHealthy = async (): Promise<boolean> => {
    if (!server.running) return true
    // Healthy means that JetStream has read its store back, not only that the port is open.
    return (await fetch(`http://127.0.0.1:${monitorPort}/healthz`)).ok
  }
  try {
    await waitFor(isHealthy, { timeout_ms: START_TIMEOUT_MS, what: 'nats-server to be healthy' })
  } catch (error) {
    await server.kill()
    throw new Error(`nats-server did not start:\n${server.logs()}`, { cause: error })
  }
  if (!server.running) {
    await server.exited
    throw new Error(`nats-server ended at its start:\n${server.logs()}`)
  }
  return server
}

const startOnce = async (options: NatsOptions): Promise<[Settings, ManagedProcess]> => {
  const directory = temporaryDirectory('nats')
  const settings: Settings = {
    binary: await natsBinary(options.binary),
    port: options.port ?? (await freePort()),
    monitorPort: await freePort(),
    storeDir: options.storeDir ?? join(directory, 'store'),
    confFile: join(directory, 'nats.conf'),
    options,
  }
  writeConf(settings)
  return [settings, await launch(settings)]
}

const isPortTaken = (error: unknown): boolean =>
  error instanceof Error && error.message.includes('address already in use')

/** A real nats-server with JetStream on a loopback port. It never outlives this process. */
export const startNats = async (options: NatsOptions = {}): Promise<NatsServer> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return serverHandle(...(await startOnce(options)))
    } catch (error) {
      // Between finding a free port and listening on it, another test process can take it.
      if (attempt === START_ATTEMPTS || !isPortTaken(error)) throw error
    }
  }
}

const serverHandle = (settings: Settings, first: ManagedProcess): NatsServer => {
  let server = first
  return {
    url: `nats://127.0.0.1:${settings.port}`,
    monitorUrl: `http://127.0.0.1:${settings.monitorPort}`,
    port: settings.port,
    get pid() {
      return server.pid
    },
    get running() {
      return server.running
    },
    storeDir: settings.storeDir,
    version: settings.binary.version,
    logs: () => server.logs(),
    stop: async () => {
      await server.stop()
    },
    kill: async () => {
      await server.kill()
    },
    restart: async () => {
      await server.stop()
      server = await launch(settings)
    },
    pause: () => server.pause(),
    resume: () => server.resume(),
  }
}
