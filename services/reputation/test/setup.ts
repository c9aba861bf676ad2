import {
  applyTopology,
  connectBus,
  createCaller,
  createKv,
  durables,
  publish,
} from '@guildhall/bus'
import {
  type AgentChanged,
  AgentRecord,
  agentChanged,
  agentKey,
  buckets,
  type EvidenceEarned,
  evidenceEarned,
  getReputation,
  type HumanPrincipal,
  type InputOf,
  noticePosted,
  ServiceError,
  StandingRecord,
  standingChanged,
  unquarantineAgent,
} from '@guildhall/contracts'
import { connectDb, type Db, migrate, migrationsHash } from '@guildhall/db'
import { createLogger, type Logger } from '@guildhall/runtime'
import {
  createDatabase,
  ManualClock,
  type NatsServer,
  startNats,
  waitFor,
} from '@guildhall/testing'
import type { Test } from 'tap'
import { compareScores } from '../src/compare-scores.ts'
import { composeReputation } from '../src/compose.ts'
import { migrations } from '../src/migrations/index.ts'

const log = createLogger({ service: 'reputation-test', level: 'silent' })

export const DAY_MS = 86_400_000

/** One server for a test file; each test has owners of its own, so tests do not meet. */
let shared: Promise<NatsServer> | undefined
const sharedNats = (): Promise<NatsServer> => {
  shared ??= startNats()
  return shared
}

const openDatabase = async (t: Test, with_log: Logger): Promise<{ db: Db; url: string }> => {
  const { url } = await createDatabase({
    template: {
      name: 'reputation',
      hash: migrationsHash(migrations),
      migrate: async (template_url) => {
        const template = connectDb(template_url, { log: with_log, max: 1 })
        await migrate(template, migrations)
        await template.destroy()
      },
    },
  })
  const db = connectDb(url, { log: with_log })
  t.teardown(() => db.destroy())
  return { db, url }
}

let ids = 100
export const newId = (): number => {
  ids += 1
  return ids
}

interface SetupOptions {
  /** A bus that the test may kill, or whose events it wants for itself. */
  readonly nats?: NatsServer
  /** Default: all parts of the service run. */
  readonly start?: boolean
}

interface AgentOptions {
  readonly config_hash: string
  readonly agent_id?: number
  readonly user_id?: number
  readonly change?: AgentChanged['change']
  readonly seed?: AgentChanged['seed']
  readonly status?: AgentRecord['status']
  readonly version?: number
}

/** A running service with a database of its own, an owner, and the events of the other services. */
export const setup = async (t: Test, { nats, start = true }: SetupOptions = {}) => {
  const { url } = nats ?? (await sharedNats())
  const { db, url: database_url } = await openDatabase(t, log)
  const bus = await connectBus({ url, service: 'reputation', log })
  const outside = await connectBus({ url, service: 'tasks', log })
  t.teardown(async () => {
    await outside.close()
    await bus.close()
  })
  await applyTopology(bus)
  const clock = new ManualClock(Date.now())
  const { deps, parts } = composeReputation({ bus, db, clock, log })
  const startParts = async (): Promise<void> => {
    t.teardown(async () => {
      for (const part of [...parts].reverse()) await part.stop()
    })
    for (const part of parts) await part.start()
  }
  if (start) await startParts()
  const user_id = newId()
  const ann: HumanPrincipal = { kind: 'human', user_id }
  const { call } = createCaller(outside)
  const standings = createKv(bus, buckets.standing, StandingRecord)

  const agentRecord = (options: AgentOptions): AgentRecord => {
    const agent_id = options.agent_id ?? newId()
    return {
      v: 1,
      version: options.version ?? 1,
      agent_id,
      user_id: options.user_id ?? user_id,
      name: `agent-${agent_id}`,
      display_name: `Agent ${agent_id}`,
      status: options.status ?? 'active',
      autonomy_tier: 'supervised',
      tool_scope: [],
      mcp_servers: [],
      config_hash: options.config_hash,
      spawn_depth: 0,
      parent_agent_id: options.change === 'spawned' ? 1 : null,
      parent_agent_name: options.change === 'spawned' ? 'parent' : null,
      coordinator_template: null,
    }
  }
  const agent = async (options: AgentOptions): Promise<number> => {
    const record = agentRecord(options)
    const event: AgentChanged = {
      v: 1,
      user_id: record.user_id,
      agent: record,
      change: options.change ?? 'created',
      seed: options.seed ?? null,
      at: clock.now(),
    }
    const msg_id = `agent-${record.user_id}-${record.agent_id}-${record.version}`
    await publish(outside, agentChanged.subject, event, { msg_id })
    return record.agent_id
  }
  const earn = async (
    evidence: Partial<EvidenceEarned> & Pick<EvidenceEarned, 'agent_id' | 'config_hash' | 'kind'>,
    msg_id = `evidence-${newId()}-${user_id}`,
  ): Promise<void> => {
    const event: EvidenceEarned = {
      v: 1,
      user_id,
      domain: 'default',
      ref: 'task:1 verified=auto',
      task_id: 1,
      at: clock.now(),
      ...evidence,
    }
    await publish(outside, evidenceEarned.subject, event, { msg_id })
  }
  const consumed = async (durable: string): Promise<boolean> => {
    const { num_pending, num_ack_pending } = await bus.jsm.consumers.info('EVENTS', durable)
    return num_pending + num_ack_pending === 0
  }
  /** Until everything that was published has been taken in. */
  const processed = async (): Promise<void> => {
    for (const durable of [durables.reputationAgents, durables.reputationEvidence]) {
      await waitFor(() => consumed(durable), { what: `${durable} to have seen all` })
    }
  }
  return {
    db,
    database_url,
    bus,
    outside,
    clock,
    deps,
    startParts,
    user_id,
    ann,
    agent,
    agentRecord,
    earn,
    processed,
    call,
    reputation: (agent_id: number, domain?: string, principal = ann) =>
      call(getReputation, { agent_id, domain } as InputOf<typeof getReputation>, { principal }),
    unquarantine: (agent_id: number, principal = ann) =>
      call(unquarantineAgent, { agent_id }, { principal }),
    standing: async (agent_id: number): Promise<StandingRecord | undefined> =>
      (await standings.get(agentKey(user_id, agent_id)))?.value,
    standings,
    agents: createKv(bus, buckets.agents, AgentRecord),
    /** Every test that changes scores ends with this. */
    recomputed: () => compareScores(db),
  }
}

export type Setup = Awaited<ReturnType<typeof setup>>

/** So many rows of one kind, one after the other. */
export const earnMany = async (
  s: Setup,
  count: number,
  evidence: Parameters<Setup['earn']>[0],
): Promise<void> => {
  for (let i = 0; i < count; i += 1) await s.earn(evidence)
}

/** What this service said about an owner, in order. */
export const said = async (s: Setup): Promise<Record<string, unknown>[]> => {
  const wanted = [standingChanged.subject, noticePosted('reputation').subject]
  const { state } = await s.bus.jsm.streams.info('EVENTS')
  const found: Record<string, unknown>[] = []
  for (let seq = Math.max(1, state.first_seq); seq <= state.last_seq; seq += 1) {
    const { subject, data } = await s.bus.jsm.streams.getMessage('EVENTS', { seq })
    const payload = JSON.parse(Buffer.from(data).toString('utf8'))
    if (wanted.includes(subject) && payload.user_id === s.user_id) found.push(payload)
  }
  return found
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

export const near = (t: Test, found: number | undefined, wanted: number, what?: string): void => {
  t.ok(Math.abs((found ?? Number.NaN) - wanted) < 1e-6, `${what ?? 'score'}: ${found} is ${wanted}`)
}
