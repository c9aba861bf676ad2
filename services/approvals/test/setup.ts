import { randomBytes } from 'node:crypto'
import {
  applyTopology,
  type Bus,
  type CallContext,
  connectBus,
  createCaller,
  createKv,
} from '@guildhall/bus'
import {
  type AgentPrincipal,
  buckets,
  credentialKey,
  type Endpoint,
  endpointKey,
  grantableTools,
  type HumanPrincipal,
  IdentityCredential,
  IdentityEndpoint,
  type InputOf,
  type Principal,
  ServiceError,
  vendEndpoint,
} from '@guildhall/contracts'
import { connectDb, type Db, migrate, migrationsHash, rowsOf } from '@guildhall/db'
import { createLogger, type Logger } from '@guildhall/runtime'
import { createDatabase, ManualClock, type NatsServer, startNats } from '@guildhall/testing'
import type { Test } from 'tap'
import { migrations } from '../src/migrations/index.ts'
import { createPasswords } from '../src/passwords.ts'
import { approvalsService } from '../src/service.ts'
import { insertUser } from '../src/store/users.ts'

export const MCP_URL = 'http://127.0.0.1:8080/mcp'

/** One server for all tests of a file: ids keep them apart, and they run one after the other. */
let shared: Promise<NatsServer> | undefined
const sharedNats = (): Promise<NatsServer> => {
  shared ??= startNats()
  return shared
}

/** The log at its most talkative, to look for what must not be in it. */
const captureLog = (): { lines: string[]; log: Logger } => {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  return { lines, log: createLogger({ service: 'approvals', level: 'debug', destination }) }
}

const openDatabase = async (t: Test, log: Logger): Promise<{ db: Db; url: string }> => {
  const { url } = await createDatabase({
    template: {
      name: 'approvals',
      hash: migrationsHash(migrations),
      migrate: async (template_url) => {
        const template = connectDb(template_url, { log, max: 1 })
        await migrate(template, migrations)
        await template.destroy()
      },
    },
  })
  const db = connectDb(url, { log })
  t.teardown(() => db.destroy())
  return { db, url }
}

/** The bucket as the gateway sees it. */
const identityReader = (bus: Bus) => {
  const endpoints = createKv(bus, buckets.identity, IdentityEndpoint)
  const credentials = createKv(bus, buckets.identity, IdentityCredential)
  return {
    endpoint: async (endpoint_id: string): Promise<Endpoint | undefined> =>
      (await endpoints.get(endpointKey(endpoint_id)))?.value.endpoint,
    credential: async (token: string): Promise<IdentityCredential | undefined> =>
      (await credentials.get(credentialKey(token)))?.value,
    forget: async (...keys: string[]): Promise<void> => {
      for (const key of keys) await endpoints.delete(key)
    },
  }
}

export const human = (user_id: number): HumanPrincipal => ({ kind: 'human', user_id })

export const agentOf = (endpoint: Endpoint): AgentPrincipal => ({
  kind: 'agent',
  user_id: endpoint.user_id,
  agent_id: endpoint.agent_id,
  agent_name: endpoint.agent_name,
  endpoint_id: endpoint.endpoint_id,
  scope: {
    tools: endpoint.tools,
    queues: endpoint.queues,
    webhook_max: endpoint.webhook_max,
    webhook_source_types: endpoint.webhook_source_types,
    webhook_queues: endpoint.webhook_queues,
    default_lease_ttl_seconds: endpoint.default_lease_ttl_seconds,
    require_fence: endpoint.require_fence,
  },
})

export const newUser = async (
  db: Db,
  clock: ManualClock,
  username: string,
): Promise<HumanPrincipal> => {
  const user = await insertUser(db, { username, created_at: new Date(clock.now()) })
  if (user === undefined) throw new Error(`${username} exists`)
  return human(user.user_id)
}

interface SetupOptions {
  /** A bus that the test may kill. */
  readonly nats?: NatsServer
  /** Default: all parts of the service run. */
  readonly start?: boolean
}

/** A service with a database of its own, and ann, who owns nothing yet. */
export const setup = async (t: Test, { nats, start = true }: SetupOptions = {}) => {
  const { lines, log } = captureLog()
  const { url } = nats ?? (await sharedNats())
  const { db, url: database_url } = await openDatabase(t, log)
  const bus = await connectBus({ url, service: 'approvals', log })
  const gateway = await connectBus({ url, service: 'mcp-gateway', log })
  t.teardown(async () => {
    await gateway.close()
    await bus.close()
  })
  await applyTopology(bus)
  const clock = new ManualClock()
  const token_derivation_key = randomBytes(32)
  // A fraction of the real cost: what is tested over the bus is not how dear a hash is.
  const passwords = createPasswords({ N: 1_024, r: 8, p: 1 })
  const options = {
    db,
    bus,
    clock,
    log,
    passwords,
    public_mcp_url: MCP_URL,
    token_derivation_key,
  }
  const { deps, parts } = approvalsService(options)
  const startParts = async (): Promise<void> => {
    t.teardown(async () => {
      for (const part of [...parts].reverse()) await part.stop()
    })
    for (const part of parts) await part.start()
  }
  if (start) await startParts()
  const { call } = createCaller(gateway)
  const ann = await newUser(db, clock, 'ann')
  const vend = (input: Partial<InputOf<typeof vendEndpoint>> = {}, idempotency_key?: string) =>
    call(
      vendEndpoint,
      { agent: { name: 'worker' }, queues: ['inbox'], ...input },
      { principal: ann, idempotency_key },
    )
  /** An endpoint that may do whatever an agent can be granted. */
  const vendTo = (owner: Principal, agent_id: number) =>
    call(
      vendEndpoint,
      { agent: { agent_id }, queues: ['inbox'], tools: [...grantableTools] },
      { principal: owner },
    )
  return {
    db,
    database_url,
    bus,
    gateway,
    clock,
    log_lines: lines,
    deps,
    startParts,
    call,
    ann,
    vend,
    vendTo,
    identity: identityReader(bus),
  }
}

export type Setup = Awaited<ReturnType<typeof setup>>

/** For handlers that are called without a bus in between. */
export const contextOf = (principal: Principal, idempotency_key?: string): CallContext => ({
  principal,
  request_id: 'req_test',
  idempotency_key,
  repeat: false,
  deadline_ms: Date.now() + 5_000,
})

/** What a caller sees of an error, without what differs from call to call. */
export const refusal = async (answer: Promise<unknown>): Promise<object> => {
  try {
    await answer
  } catch (error) {
    if (error instanceof ServiceError) return error.toBody('any')
    throw error
  }
  throw new Error('the call was not refused')
}

export const tableRows = (db: Db, sql: string): Promise<Record<string, unknown>[]> =>
  rowsOf(db, sql, {})

/** Every event of this endpoint in the stream, in order. */
export const eventsAbout = async (bus: Bus, endpoint_id: string): Promise<object[]> => {
  const { state } = await bus.jsm.streams.info('EVENTS')
  const found: object[] = []
  for (let seq = Math.max(1, state.first_seq); seq <= state.last_seq; seq += 1) {
    const { subject, data } = await bus.jsm.streams.getMessage('EVENTS', { seq })
    const payload = JSON.parse(Buffer.from(data).toString('utf8'))
    if (payload.endpoint_id === endpoint_id) found.push({ subject, payload })
  }
  return found
}
