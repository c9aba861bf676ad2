import { createHmac, randomBytes } from 'node:crypto'
import { applyTopology, type Bus, connectBus, createCaller, createKv } from '@guildhall/bus'
import {
  type AgentPrincipal,
  buckets,
  createWebhook,
  DeliveryMeta,
  type EndpointScope,
  endpointKey,
  type HumanPrincipal,
  headers as headerNames,
  IdentityEndpoint,
  newEndpointId,
  type Principal,
  ServiceError,
  streams,
  tools,
  type WebhookWithSecret,
} from '@guildhall/contracts'
import { connectDb, migrate, migrationsHash } from '@guildhall/db'
import { createLogger, type Logger, loadConfig } from '@guildhall/runtime'
import { createDatabase, ManualClock, type NatsServer, startNats } from '@guildhall/testing'
import type { Test } from 'tap'
import { composeIngest } from '../src/compose.ts'
import { IngestConfig } from '../src/config.ts'
import { migrations } from '../src/migrations/index.ts'

/** One server for all tests of a file: owners keep them apart, and they run one after the other. */
let shared: Promise<NatsServer> | undefined
const sharedNats = (): Promise<NatsServer> => {
  shared ??= startNats()
  return shared
}

export const migrateUrl = async (url: string, log: Logger): Promise<void> => {
  const db = connectDb(url, { log, max: 1 })
  await migrate(db, migrations)
  await db.destroy()
}

/** The log at its most talkative, to look for what must not be in it. */
const captureLog = (): { lines: string[]; log: Logger } => {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  return { lines, log: createLogger({ service: 'ingest', level: 'debug', destination }) }
}

let owners = Math.floor(Date.now() / 1_000)
export const newOwner = (): HumanPrincipal => {
  owners += 1
  return { kind: 'human', user_id: owners }
}

interface SetupOptions {
  /** Servers that the test may kill. */
  readonly nats?: NatsServer
  readonly database_url?: string
  readonly env?: Readonly<Record<string, string>>
}

const MASTER_KEYS = `k1:${randomBytes(32).toString('base64')}`

const configFor = (database_url: string, env: Readonly<Record<string, string>>): IngestConfig =>
  loadConfig(IngestConfig, {
    HTTP_PORT: '0',
    PUBLIC_INGEST_URL: 'http://public.test/',
    DATABASE_URL: database_url,
    SECRETS_MASTER_KEYS: MASTER_KEYS,
    WEBHOOK_RATE_PER_SECOND: '10000',
    WEBHOOK_RATE_BURST: '10000',
    CLIENT_RATE_PER_SECOND: '10000',
    CLIENT_RATE_BURST: '10000',
    ...env,
  })

const freshDatabase = async (log: Logger): Promise<string> => {
  const { url } = await createDatabase({
    template: {
      name: 'ingest',
      hash: migrationsHash(migrations),
      migrate: (template_url) => migrateUrl(template_url, log),
    },
  })
  return url
}

/** The whole service, running, with a database of its own; and an owner, who owns nothing yet. */
export const setup = async (t: Test, { nats, database_url, env = {} }: SetupOptions = {}) => {
  const { lines, log } = captureLog()
  const { url } = nats ?? (await sharedNats())
  const db_url = database_url ?? (await freshDatabase(log))
  const bus = await connectBus({ url, service: 'ingest', log })
  const gateway = await connectBus({ url, service: 'mcp-gateway', log })
  const db = connectDb(db_url, { log })
  await applyTopology(bus)
  const clock = new ManualClock()
  const config = configFor(db_url, env)
  const { deps, parts, app, ready } = composeIngest(config, { bus, db, clock, log })
  t.teardown(async () => {
    for (const part of [...parts].reverse()) await part.stop()
    await gateway.close()
    await bus.close()
    await db.destroy()
  })
  for (const part of parts) await part.start()
  const address = app.server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const { call } = createCaller(gateway)
  const owner = newOwner()
  const localUrl = (ingest_url: string): string =>
    ingest_url.replace('http://public.test', `http://127.0.0.1:${port}`)
  const create = (
    principal: Principal,
    source_type: string,
    more: { target_queue?: string; signing_secret?: string; idempotency_key?: string } = {},
  ): Promise<WebhookWithSecret> =>
    call(createWebhook, { source_type, target_queue: 'inbox', ...more }, { principal })
  return {
    bus,
    db,
    clock,
    deps,
    ready,
    port,
    call,
    owner,
    create,
    localUrl,
    log_lines: lines,
    vend: (scope: Partial<EndpointScope> = {}, of = owner) => vend(bus, of, scope),
    post: (ingest_url: string, body: string | Uint8Array, headers = {}) =>
      post(localUrl(ingest_url), body, headers),
  }
}

export type Setup = Awaited<ReturnType<typeof setup>>

/** An endpoint as approvals would show it, live in the bucket. */
const vend = async (bus: Bus, owner: HumanPrincipal, scope: Partial<EndpointScope>) => {
  const endpoint_id = newEndpointId(Date.now())
  const full: EndpointScope = {
    tools: tools.map((tool) => tool.name),
    queues: ['inbox'],
    webhook_max: 10,
    webhook_source_types: ['github', 'generic'],
    webhook_queues: ['inbox'],
    default_lease_ttl_seconds: null,
    require_fence: false,
    ...scope,
  }
  const principal: AgentPrincipal = {
    kind: 'agent',
    user_id: owner.user_id,
    agent_id: 1,
    agent_name: 'worker',
    endpoint_id,
    scope: full,
  }
  const identity = createKv(bus, buckets.identity, IdentityEndpoint)
  const write = (more: Partial<IdentityEndpoint['endpoint']> = {}) =>
    identity.put(
      endpointKey(endpoint_id),
      IdentityEndpoint.parse({
        v: 1,
        endpoint: {
          endpoint_id,
          user_id: owner.user_id,
          agent_id: 1,
          agent_name: 'worker',
          name: 'worker',
          ...full,
          rate_limit: { per_second: 20, burst: 40 },
          allowed_cidrs: [],
          expires_at: null,
          status: 'active',
          credential_prefix: 'agt_x',
          created_at: '2029-01-01T00:00:00.000Z',
          revoked_at: null,
          version: 1,
          ...more,
        },
      }),
    )
  await write()
  return { principal, write }
}

export interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at whatever came
  readonly body: any
  readonly headers: Headers
}

const post = async (
  url: string,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> => {
  const bytes = typeof body === 'string' ? Buffer.from(body) : Buffer.from(body)
  const answer = await fetch(url, {
    method: 'POST',
    body: bytes,
    headers: { 'content-type': 'application/json', ...headers },
  })
  return { status: answer.status, body: await answer.json(), headers: answer.headers }
}

const hmacHex = (secret: string, text: string | Uint8Array): string =>
  createHmac('sha256', secret).update(text).digest('hex')

export const hubHeaders = (secret: string, body: string | Uint8Array): Record<string, string> => ({
  'x-hub-signature-256': `sha256=${hmacHex(secret, body)}`,
})

export const stripeHeaders = (
  secret: string,
  body: string,
  now_ms: number,
): Record<string, string> => {
  const time = Math.floor(now_ms / 1_000)
  return { 'stripe-signature': `t=${time},v1=${hmacHex(secret, `${time}.${body}`)}` }
}

export const slackHeaders = (
  secret: string,
  body: string,
  now_ms: number,
): Record<string, string> => {
  const time = Math.floor(now_ms / 1_000)
  return {
    'x-slack-request-timestamp': String(time),
    'x-slack-signature': `v0=${hmacHex(secret, `v0:${time}:${body}`)}`,
  }
}

interface StoredDelivery {
  readonly meta: DeliveryMeta
  readonly data: Buffer
}

/** Everything in DELIVERIES of one owner, in the order of the stream. */
export const deliveriesOf = async (bus: Bus, owner_id: number): Promise<StoredDelivery[]> => {
  const { state } = await bus.jsm.streams.info(streams.deliveries, {
    subjects_filter: `deliveries.${owner_id}.>`,
  })
  const found: (StoredDelivery & { seq: number })[] = []
  for (const subject of Object.keys(state.subjects ?? {})) {
    const message = await bus.jsm.streams.getMessage(streams.deliveries, { last_by_subj: subject })
    const meta = DeliveryMeta.parse(JSON.parse(message.header.get(headerNames.delivery)))
    found.push({ meta, data: Buffer.from(message.data), seq: message.seq })
  }
  return found.sort((a, b) => a.seq - b.seq).map(({ meta, data }) => ({ meta, data }))
}

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
