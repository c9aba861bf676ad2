import { join } from 'node:path'
import { spawnManaged, startPostgres, waitFor } from '@guildhall/testing'
import { brokerUnit } from './broker.ts'
import { ensureDatabases } from './databases.ts'
import type { DevFile } from './dev-file.ts'
import { type KeepRunningEvents, type KeptUnit, keepRunning, type Unit } from './keep-running.ts'
import { loadKeys } from './keys.ts'
import { type Layout, logFile } from './layout.ts'
import { appendLine, lastLines, openLog } from './log-file.ts'
import { ADMIN_USER, NATS_USERS } from './nats-permissions.ts'
import type { Options } from './options.ts'
import { type FirstOwner, firstOwner } from './owner.ts'
import { portsFrom, requireFreePorts } from './ports.ts'
import { prettyLine } from './pretty-line.ts'
import { requireBuilt, runEntry } from './run-entry.ts'
import {
  type PublicUrls,
  provisionEnvironment,
  publicUrls,
  type Servers,
  serviceEnvironment,
} from './service-environment.ts'
import {
  BOOTSTRAP_SERVICE,
  mainEntry,
  migrateEntry,
  PROVISION_ENTRY,
  type ServiceDefinition,
} from './services.ts'

// The order in which Guildhall comes up: servers, schema, topology, services, first owner.

const READY_TIMEOUT_MS = 90_000
const READY_INTERVAL_MS = 100
const READY_REQUEST_MS = 3_000
/** A service drains on SIGTERM: it finishes what it has in hand. */
const DRAIN_DEADLINE_MS = 25_000
const HOPELESS_AFTER_EXITS = 3
const SHOWN_LOG_LINES = 15
const SHOWN_COLUMNS = 300

interface StackHooks extends KeepRunningEvents {
  /** Announces a step when it is done. */
  step<T>(text: string, work: () => Promise<T>): Promise<T>
  /** A process that has to be ended later. */
  onUnit(unit: KeptUnit): void
}

export interface Running {
  description: Omit<DevFile, 'pids'>
  /** Makes a new login link. */
  renewLogin(): Promise<FirstOwner>
}

interface Stack {
  options: Options
  env: NodeJS.ProcessEnv
  hooks: StackHooks
  servers: Servers
  urls: PublicUrls
}

const given = (value: string | undefined): string | undefined => (value === '' ? undefined : value)

const keep = async (unit: Unit, hooks: StackHooks): Promise<KeptUnit> => {
  const kept = await keepRunning(unit, hooks)
  hooks.onUnit(kept)
  return kept
}

const intoLog = (layout: Layout, name: string) => {
  const path = logFile(layout, name)
  return (line: string) => appendLine(path, line)
}

/** The two servers: those that were given by URL, else our own on var/. */
const startServers = async (
  { layout, services, portBase }: Options,
  env: NodeJS.ProcessEnv,
  hooks: StackHooks,
): Promise<Servers> => {
  const withDatabase = services.filter(({ database }) => database).map(({ name }) => name)
  const keys = loadKeys(layout, [...NATS_USERS, 'sys'], withDatabase)
  const ports = portsFrom(portBase, services)
  const natsUrl = given(env.NATS_URL)
  let databaseAdminUrl = given(env.DATABASE_URL)
  await requireFreePorts(ports, {
    nats: natsUrl === undefined,
    postgres: databaseAdminUrl === undefined,
  })
  if (natsUrl === undefined) {
    await hooks.step(`nats-server on 127.0.0.1:${ports.nats}`, async () =>
      keep(await brokerUnit(layout, ports, keys.nats, intoLog(layout, 'nats-server')), hooks),
    )
  }
  if (databaseAdminUrl === undefined) {
    await hooks.step(`PostgreSQL on 127.0.0.1:${ports.postgres}`, async () => {
      const onLine = intoLog(layout, 'postgres')
      const start = async () => {
        const settings = { dataDir: layout.postgresDir, port: ports.postgres, onLine }
        const postgres = await startPostgres(settings)
        databaseAdminUrl = postgres.adminUrl
        return postgres
      }
      await keep({ name: 'postgres', start }, hooks)
    })
  }
  if (databaseAdminUrl === undefined) throw new Error('PostgreSQL started without a URL')
  const natsLogin = {
    ...(env.NATS_USER === undefined ? {} : { user: env.NATS_USER }),
    ...(env.NATS_PASSWORD === undefined ? {} : { password: env.NATS_PASSWORD }),
  }
  return {
    natsUrl: natsUrl ?? `nats://127.0.0.1:${ports.nats}`,
    ...(natsUrl === undefined ? {} : { natsLogin }),
    databaseAdminUrl,
    keys,
    ports,
  }
}

const environmentOf = (service: ServiceDefinition, { servers, urls, env }: Stack) =>
  serviceEnvironment(service, servers, urls, env)

const migrateAndProvision = async (stack: Stack): Promise<void> => {
  const { options, servers, env, hooks } = stack
  const { root } = options.layout
  const withDatabase = options.services.filter(({ database }) => database)
  await hooks.step(`databases of ${withDatabase.map(({ name }) => name).join(', ')}`, async () => {
    await ensureDatabases(servers.databaseAdminUrl, servers.keys.postgres)
    for (const service of withDatabase) {
      await runEntry(root, migrateEntry(service.name), environmentOf(service, stack))
    }
  })
  await hooks.step('streams and buckets', () =>
    runEntry(root, PROVISION_ENTRY, provisionEnvironment(servers, env)),
  )
}

const serviceUnit = (service: ServiceDefinition, stack: Stack): Unit => {
  const { layout } = stack.options
  const output = openLog(logFile(layout, service.name))
  return {
    name: service.name,
    start: async () => {
      const running = spawnManaged({
        name: service.name,
        command: process.execPath,
        args: ['--enable-source-maps', join(layout.root, mainEntry(service.name))],
        env: environmentOf(service, stack),
        cwd: layout.root,
        deathSignal: 'SIGTERM',
        output,
      })
      const { pid, exited } = running
      return { pid, exited, stop: () => running.stop({ deadline_ms: DRAIN_DEADLINE_MS }) }
    },
  }
}

const opsUrl = ({ servers }: Stack, service: string): string =>
  `http://127.0.0.1:${servers.ports.services.get(service)?.ops}`

const waitUntilReady = async (unit: KeptUnit, stack: Stack): Promise<void> => {
  let answer = 'no answer from /ready'
  const isReady = async (): Promise<boolean> => {
    if (unit.exits >= HOPELESS_AFTER_EXITS) {
      answer = `it ended ${unit.exits} times`
      return true
    }
    const reply = await fetch(`${opsUrl(stack, unit.name)}/ready`, {
      signal: AbortSignal.timeout(READY_REQUEST_MS),
    })
    answer = reply.ok ? '' : `/ready says ${reply.status}: ${await reply.text()}`
    return reply.ok
  }
  await waitFor(isReady, {
    timeout_ms: READY_TIMEOUT_MS,
    interval_ms: READY_INTERVAL_MS,
    what: unit.name,
  }).catch(() => {})
  if (answer === '') return
  const log = logFile(stack.options.layout, unit.name)
  const end = lastLines(log, SHOWN_LOG_LINES)
    .split('\n')
    .map((line) => prettyLine(unit.name, line, { brief: true }).slice(0, SHOWN_COLUMNS))
  throw new Error(`${unit.name} is not ready: ${answer}\nThe end of ${log}:\n${end.join('\n')}`)
}

const startServices = async (stack: Stack): Promise<void> => {
  const { options, hooks } = stack
  const { services, layout } = options
  for (const { name } of services) requireBuilt(layout.root, mainEntry(name))
  const units: KeptUnit[] = []
  for (const service of services) units.push(await keep(serviceUnit(service, stack), hooks))
  await Promise.all(
    units.map((unit) => hooks.step(`${unit.name} is ready`, () => waitUntilReady(unit, stack))),
  )
}

const describe = (stack: Stack, first: FirstOwner): Running['description'] => {
  const { servers, urls, options } = stack
  const password = servers.keys.nats[ADMIN_USER]
  const isOurs = servers.natsLogin === undefined && password !== undefined
  return {
    mcp_url: urls.mcp,
    api_url: urls.api,
    ingest_url: urls.ingest,
    ...first,
    nats_url: servers.natsUrl,
    ...(isOurs ? { nats_admin: { user: ADMIN_USER, password } } : {}),
    ops_urls: Object.fromEntries(options.services.map(({ name }) => [name, opsUrl(stack, name)])),
  }
}

/** Brings everything up, or throws with the reason; what was started by then is with `onUnit`. */
export const bringUp = async (
  options: Options,
  env: NodeJS.ProcessEnv,
  hooks: StackHooks,
): Promise<Running> => {
  const servers = await startServers(options, env, hooks)
  const urls = publicUrls(servers.ports, options.portBase)
  const stack: Stack = { options, env, hooks, servers, urls }
  await migrateAndProvision(stack)
  await startServices(stack)
  const bootstrap = options.services.find(({ name }) => name === BOOTSTRAP_SERVICE)
  if (bootstrap === undefined) throw new Error(`services.ts has no row for ${BOOTSTRAP_SERVICE}`)
  const renewLogin = () => firstOwner(options.layout, environmentOf(bootstrap, stack))
  const first = await hooks.step('first owner and agent', renewLogin)
  return { description: describe(stack, first), renewLogin }
}
