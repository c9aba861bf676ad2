import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePort } from './free-port.ts'
import { type NatsOptions, type NatsServer, startNats } from './nats.ts'
import { type PostgresServer, startPostgres } from './postgres.ts'
import { type RunningService, startService } from './service.ts'
import { temporaryDirectory } from './temporary-directory.ts'
import { waitFor } from './wait-for.ts'

/** The whole system as processes, for tests that only know it from outside. */

export type SystemService =
  | 'mcp-gateway'
  | 'ingest'
  | 'tasks'
  | 'approvals'
  | 'reputation'
  | 'secrets'
  | 'verifier'

const SERVICES: readonly SystemService[] = [
  'approvals',
  'tasks',
  'reputation',
  'secrets',
  'verifier',
  'ingest',
  'mcp-gateway',
]
const WITH_DATABASE: readonly SystemService[] = [
  'approvals',
  'tasks',
  'reputation',
  'secrets',
  'ingest',
]

type HttpService = 'mcp-gateway' | 'ingest'

/** A dozen processes start at once here, perhaps on a machine that has other things to do. */
const READY_TIMEOUT_MS = 90_000

export interface SystemOptions {
  /** Processes per service; default 1. */
  readonly replicas?: Partial<Record<SystemService, number>>
  readonly nats?: NatsOptions
  /** Needed where PostgreSQL is killed. */
  readonly fsync?: boolean
  /** Additions to the environment of a service. */
  readonly env?: Partial<Record<SystemService, NodeJS.ProcessEnv>>
  /** Per replica, e.g. a clock of its own; called with service and index. */
  readonly replicaEnv?: (service: SystemService, index: number) => NodeJS.ProcessEnv
  readonly log_level?: string
}

export interface System {
  readonly nats: NatsServer
  readonly postgres: PostgresServer
  readonly services: Readonly<Record<SystemService, readonly RunningService[]>>
  /** One per gateway. */
  readonly mcp_urls: readonly string[]
  readonly api_urls: readonly string[]
  /** One per ingest. */
  readonly ingest_urls: readonly string[]
  /** /ready, /metrics of each replica. */
  readonly ops_urls: Readonly<Record<SystemService, readonly string[]>>
  readonly owner: {
    readonly user_id: number
    readonly login_url: string
    readonly api_token: string
  }
  readonly agent: {
    readonly agent_id: number
    readonly endpoint_id: string
    readonly token: string
  }
  stop(): Promise<void>
}

const run = promisify(execFile)

/** dist/src/ of this package is three levels below the root's libs/. */
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))

const entry = (service: SystemService, file: string): string =>
  `${ROOT}services/${service}/dist/src/${file}.js`

const key = (): string => randomBytes(32).toString('base64')

const createDatabases = async (postgres: PostgresServer): Promise<void> => {
  const client = new pg.Client({ connectionString: postgres.adminUrl })
  await client.connect()
  for (const service of WITH_DATABASE) await client.query(`create database ${service}`)
  await client.end()
}

const startReplicas = async (
  service: SystemService,
  count: number,
  environment: (index: number) => Promise<{ env: NodeJS.ProcessEnv; ops_url: string }>,
): Promise<{ running: RunningService; ops_url: string }[]> =>
  await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const { env, ops_url } = await environment(index)
      const running = await startService({
        entry: entry(service, 'main'),
        name: `${service}-${index}`,
        env,
        readyUrl: `${ops_url}/ready`,
        readyTimeout_ms: READY_TIMEOUT_MS,
      })
      return { running, ops_url }
    }),
  )

const ports = async (count: number): Promise<number[]> =>
  await Promise.all(Array.from({ length: count }, () => freePort()))

/** Starts everything, migrated and with a first owner and agent. Takes some seconds. */
export const startSystem = async (options: SystemOptions = {}): Promise<System> => {
  const [nats, postgres] = await Promise.all([
    startNats(options.nats ?? {}),
    startPostgres({ fsync: options.fsync ?? false }),
  ])
  await createDatabases(postgres)
  const count = (service: SystemService): number => options.replicas?.[service] ?? 1
  const gateway_ports = await ports(count('mcp-gateway'))
  const ingest_ports = await ports(count('ingest'))
  const shared: NodeJS.ProcessEnv = {
    NODE_ENV: 'test',
    LOG_LEVEL: options.log_level ?? 'warn',
    NATS_URL: nats.url,
    HTTP_HOST: '127.0.0.1',
    PUBLIC_MCP_URL: `http://127.0.0.1:${gateway_ports[0]}/mcp`,
    PUBLIC_LOGIN_URL: `http://127.0.0.1:${gateway_ports[0]}/login`,
    PUBLIC_INGEST_URL: `http://127.0.0.1:${ingest_ports[0]}`,
    LEASE_TOKEN_KEY: key(),
    TOKEN_DERIVATION_KEY: key(),
    SECRETS_MASTER_KEYS: `k1:${key()}`,
    VAULT_MASTER_KEYS: `k1:${key()}`,
    VERIFIER_ROOT: temporaryDirectory('verifier'),
  }
  const environmentOf = (service: SystemService): NodeJS.ProcessEnv => ({
    ...shared,
    SERVICE_NAME: service,
    ...(WITH_DATABASE.includes(service) ? { DATABASE_URL: postgres.url(service) } : {}),
    ...options.env?.[service],
  })
  const once = async (file: string, env: NodeJS.ProcessEnv): Promise<string> => {
    const { PATH, HOME } = process.env
    return (await run(process.execPath, [file], { env: { PATH, HOME, ...env } })).stdout
  }
  await Promise.all([
    once(`${ROOT}libs/bus/dist/src/provision.js`, shared),
    ...WITH_DATABASE.map((service) => once(entry(service, 'migrate'), environmentOf(service))),
  ])
  const first = JSON.parse(
    (await once(entry('approvals', 'bootstrap'), environmentOf('approvals'))).trim(),
  )
  const started = await Promise.all(
    SERVICES.map((service) =>
      startReplicas(service, count(service), async (index) => {
        const ops_port = await freePort()
        const http_ports = { 'mcp-gateway': gateway_ports, ingest: ingest_ports }
        const http_port = Object.hasOwn(http_ports, service)
          ? http_ports[service as HttpService][index]
          : undefined // as just asked
        return {
          env: {
            ...environmentOf(service),
            OPS_PORT: `${ops_port}`,
            ...(http_port === undefined ? {} : { HTTP_PORT: `${http_port}` }),
            ...options.replicaEnv?.(service, index),
          },
          ops_url: `http://127.0.0.1:${ops_port}`,
        }
      }),
    ),
  )
  // Ready may be said before the listener is open.
  for (const port of [...gateway_ports, ...ingest_ports]) {
    await waitFor(() => fetch(`http://127.0.0.1:${port}/health`), {
      what: `port ${port} to answer`,
    })
  }
  const by = <T>(pick: (replica: { running: RunningService; ops_url: string }) => T) =>
    Object.fromEntries(
      SERVICES.map((service, i) => [service, (started[i] ?? []).map(pick)]),
    ) as unknown as Record<SystemService, T[]> // fromEntries forgets the names of its keys
  const services = by((replica) => replica.running)
  return {
    nats,
    postgres,
    services,
    mcp_urls: gateway_ports.map((port) => `http://127.0.0.1:${port}/mcp`),
    api_urls: gateway_ports.map((port) => `http://127.0.0.1:${port}/api`),
    ingest_urls: ingest_ports.map((port) => `http://127.0.0.1:${port}`),
    ops_urls: by((replica) => replica.ops_url),
    owner: first.owner,
    agent: first.agent,
    stop: async () => {
      await Promise.all(
        Object.values(services)
          .flat()
          .map((service) => service.stop()),
      )
      await Promise.all([nats.stop(), postgres.stop()])
    },
  }
}
