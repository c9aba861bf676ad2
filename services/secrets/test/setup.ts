import { randomBytes } from 'node:crypto'
import { applyTopology, type Bus, connectBus, createCaller, createKv } from '@guildhall/bus'
import {
  type AgentPrincipal,
  AgentRecord,
  agentKey,
  buckets,
  type HumanPrincipal,
  newEndpointId,
  type Operation,
  type OutputOf,
  type Principal,
  type SecretScope,
  ServiceError,
  StandingRecord,
  setSecret,
  streams,
  TaskRecord,
  taskItemId,
  taskKey,
  tools,
  WorkRecord,
  workKey,
} from '@guildhall/contracts'
import { connectDb, type Db, migrate, migrationsHash } from '@guildhall/db'
import { createLogger, type Logger } from '@guildhall/runtime'
import { createDatabase, ManualClock, type NatsServer, startNats } from '@guildhall/testing'
import type { Test } from 'tap'
import type { z } from 'zod'
import type { Resolve } from '../src/brokered/addresses.ts'
import { composeSecrets } from '../src/compose.ts'
import { loadVaultConfig, SecretsConfig } from '../src/config.ts'
import { migrations } from '../src/migrations/index.ts'

/** One server for all tests of a file: owners keep them apart, and they run one after the other. */
let shared: Promise<NatsServer> | undefined
const sharedNats = (): Promise<NatsServer> => {
  shared ??= startNats()
  return shared
}

/** The log at its most talkative, to look for what must not be in it. */
const captureLog = (): { lines: string[]; log: Logger } => {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  return { lines, log: createLogger({ service: 'secrets', level: 'trace', destination }) }
}

export const newMasterKey = (name: string): string =>
  `${name}:${randomBytes(32).toString('base64')}`

const freshDatabase = async (log: Logger): Promise<string> => {
  const { url } = await createDatabase({
    template: {
      name: 'secrets',
      hash: migrationsHash(migrations),
      migrate: async (template_url) => {
        const template = connectDb(template_url, { log, max: 1 })
        await migrate(template, migrations)
        await template.destroy()
      },
    },
  })
  return url
}

let owners = Math.floor(Date.now() / 1_000)
export const newOwner = (): HumanPrincipal => {
  owners += 1
  return { kind: 'human', user_id: owners }
}

export const agentOf = ({ user_id }: HumanPrincipal, agent_id: number): AgentPrincipal => ({
  kind: 'agent',
  user_id,
  agent_id,
  agent_name: `agent-${agent_id}`,
  endpoint_id: newEndpointId(Date.now()),
  scope: {
    tools: tools.map((tool) => tool.name),
    queues: ['inbox'],
    webhook_max: 0,
    webhook_source_types: [],
    webhook_queues: [],
    default_lease_ttl_seconds: null,
    require_fence: false,
  },
})

interface SetupOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly resolve?: Resolve
  readonly database_url?: string
  readonly master_keys?: string
}

/** What the other services keep on the bus, as they would write it. */
const othersOf = (bus: Bus, clock: ManualClock) => {
  const agents = createKv(bus, buckets.agents, AgentRecord)
  const tasks = createKv(bus, buckets.goals, TaskRecord)
  const work = createKv(bus, buckets.work, WorkRecord)
  const standing = createKv(bus, buckets.standing, StandingRecord)
  return {
    agent: async (owner: HumanPrincipal, agent_id: number): Promise<AgentPrincipal> => {
      const { user_id } = owner
      await agents.put(agentKey(user_id, agent_id), {
        v: 1,
        version: 1,
        agent_id,
        user_id,
        name: `agent-${agent_id}`,
        display_name: `Agent ${agent_id}`,
        status: 'active',
        autonomy_tier: 'assisted',
        tool_scope: [],
        mcp_servers: [],
        config_hash: 'hash',
        spawn_depth: 0,
        parent_agent_id: null,
        parent_agent_name: null,
        coordinator_template: null,
      })
      return agentOf(owner, agent_id)
    },
    task: ({ user_id }: HumanPrincipal, task_id: number, more: Partial<TaskRecord> = {}) =>
      tasks.put(taskKey(user_id, task_id), {
        v: 1,
        version: 1,
        task_id,
        goal_id: task_id + 1_000,
        user_id,
        parent_task_id: null,
        title: 'a task',
        status: 'approved',
        billing_code: null,
        assignee_agent_id: null,
        verifier_agent_id: null,
        remaining_tokens: null,
        remaining_dollars_cents: null,
        ...more,
      }),
    claim: ({ user_id, agent_id }: AgentPrincipal, task_id: number, lease_ms = 60_000) =>
      work.put(workKey(user_id, taskItemId(task_id)), {
        v: 1,
        id: taskItemId(task_id),
        owner_id: user_id,
        queue: 'goal-x',
        priority: 'normal',
        state: 'claimed',
        title: 'a task',
        created_at: clock.now(),
        updated_at: clock.now(),
        claimable_at: clock.now(),
        payload_size: 0,
        content_type: 'application/json',
        attempt: 1,
        max_attempts: 1,
        attempts_total: 1,
        holder: `agent:${agent_id}`,
        lease_until: clock.now() + lease_ms,
        prior_attempts: [],
        dead_letter: false,
        task: { task_id, goal_id: task_id + 1_000, verifier: { kind: 'auto' } },
      }),
    quarantine: ({ user_id, agent_id }: AgentPrincipal, quarantined: boolean) =>
      standing.put(agentKey(user_id, agent_id), {
        v: 1,
        version: 1,
        agent_id,
        user_id,
        quarantined,
        reason: null,
        since: 0,
      }),
  }
}

/** The whole service, running, with a database of its own; and an owner, who has nothing yet. */
export const setup = async (t: Test, options: SetupOptions = {}) => {
  const { env = {}, resolve, master_keys = newMasterKey('k1') } = options
  const { lines, log } = captureLog()
  const { url } = await sharedNats()
  const database_url = options.database_url ?? (await freshDatabase(log))
  const bus = await connectBus({ url, service: 'secrets', log })
  const gateway = await connectBus({ url, service: 'mcp-gateway', log })
  const db = connectDb(database_url, { log })
  await applyTopology(bus)
  const clock = new ManualClock()
  const config = loadVaultConfig(SecretsConfig, {
    NODE_ENV: 'test',
    DATABASE_URL: database_url,
    VAULT_MASTER_KEYS: master_keys,
    ...env,
  })
  const overrides = resolve === undefined ? {} : { resolve }
  const { deps, parts, ready } = composeSecrets(config, { bus, db, clock, log }, overrides)
  const stop = async (): Promise<void> => {
    for (const part of [...parts].reverse()) await part.stop()
  }
  t.teardown(async () => {
    await stop()
    await gateway.close()
    await bus.close()
    await db.destroy()
  })
  for (const part of parts) await part.start()
  const { call: send } = createCaller(gateway)
  const call = <Op extends Operation>(
    op: Op,
    input: z.input<Op['input']>,
    principal: Principal,
    idempotency_key?: string,
  ): Promise<OutputOf<Op>> => send(op, input, { principal, idempotency_key })
  const owner = newOwner()
  return {
    bus,
    db,
    database_url,
    clock,
    deps,
    ready,
    stop,
    call,
    owner,
    master_keys,
    log_lines: lines,
    ...othersOf(bus, clock),
    set: (
      scope_type: SecretScope,
      scope_id: number,
      name: string,
      value: string,
      hosts: string[] = [],
      principal: Principal = owner,
    ) => call(setSecret, { scope_type, scope_id, name, value, hosts }, principal),
  }
}

export type Setup = Awaited<ReturnType<typeof setup>>

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

interface SeenEvent {
  readonly subject: string
  readonly id: string | undefined
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at whatever came
  readonly payload: any
}

/** The events of this service about one owner, in order. */
export const eventsOf = async (bus: Bus, { user_id }: HumanPrincipal): Promise<SeenEvent[]> => {
  const { state } = await bus.jsm.streams.info(streams.events)
  const found: SeenEvent[] = []
  for (let seq = Math.max(1, state.first_seq); seq <= state.last_seq; seq += 1) {
    const { subject, data, header } = await bus.jsm.streams.getMessage(streams.events, { seq })
    if (!subject.startsWith('evt.secrets.')) continue
    const payload = JSON.parse(Buffer.from(data).toString('utf8'))
    if (payload.user_id === user_id) found.push({ subject, id: header.get('Nats-Msg-Id'), payload })
  }
  return found
}

/** Everything of a database as text, to look for what must not be in it. */
export const databaseText = async (db: Db): Promise<string> => {
  const tables = ['secrets', 'calls', 'resource_requests', 'outbox', 'inbox']
  const rows = await Promise.all(tables.map((table) => db(table).select('*')))
  return JSON.stringify(rows, (_key, value) =>
    value?.type === 'Buffer' ? Buffer.from(value.data).toString('latin1') : value,
  )
}
