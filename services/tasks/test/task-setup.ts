import { createKv, decode } from '@guildhall/bus'
import {
  AgentRecord,
  agentKey,
  buckets,
  claimTask,
  GoalRecord,
  goalKey,
  type OutputOf,
  StandingRecord,
  streams,
  submitTask,
  TaskRecord,
  type VerifierConfig,
  verifyTask,
} from '@guildhall/contracts'
import type { Test } from 'tap'
import type { z } from 'zod'
import { sweepOnce } from '../src/reconcilers/sweep.ts'
import { type Bundle, setup, type Worker } from './setup.ts'

/** Goals, tasks and agents as other parts make them, for tests of what becomes of the tasks. */

const TASK_TOOLS = ['claim_task', 'submit_task', 'verify_task', 'heartbeat', 'release']

export const setAgent = async (
  s: Bundle,
  agent_id: number,
  changes: Partial<AgentRecord> = {},
): Promise<AgentRecord> => {
  const record: AgentRecord = {
    v: 1,
    version: 1,
    agent_id,
    user_id: s.owner_id,
    name: `agent-${agent_id}`,
    display_name: `Agent ${agent_id}`,
    status: 'active',
    autonomy_tier: 'assisted',
    tool_scope: [],
    mcp_servers: [],
    config_hash: `hash-of-${agent_id}`,
    spawn_depth: 0,
    parent_agent_id: null,
    parent_agent_name: null,
    coordinator_template: null,
    ...changes,
  }
  const kv = createKv(s.bus, buckets.agents, AgentRecord)
  await kv.put(agentKey(record.user_id, agent_id), record)
  return record
}

export const setQuarantine = async (
  s: Bundle,
  agent_id: number,
  quarantined: boolean,
): Promise<void> => {
  const kv = createKv(s.bus, buckets.standing, StandingRecord)
  await kv.put(agentKey(s.owner_id, agent_id), {
    v: 1,
    version: 1,
    agent_id,
    user_id: s.owner_id,
    quarantined,
    reason: null,
    since: s.clock.now(),
  })
}

export interface Agent extends Worker {
  readonly agent_id: number
  take(task_id: number, input?: object): Promise<OutputOf<typeof claimTask>>
  submit(task_id: number, input?: object, key?: string): Promise<OutputOf<typeof submitTask>>
  verify(task_id: number, verdict: string, reason?: string): Promise<OutputOf<typeof verifyTask>>
}

const withTaskVerbs = (worker: Worker): Omit<Agent, 'agent_id'> => ({
  ...worker,
  take: (task_id, input = {}) => worker.call(claimTask, { task_id, ...input }),
  submit: (task_id, input = {}, key) => worker.call(submitTask, { task_id, ...input }, key),
  verify: (task_id, verdict, reason) =>
    worker.call(verifyTask, { task_id, verdict, ...(reason === undefined ? {} : { reason }) }),
})

let agents = 1_000

export const newAgent = async (
  s: Bundle,
  { require_fence = false, ...changes }: Partial<AgentRecord> & { require_fence?: boolean } = {},
): Promise<Agent> => {
  agents += 1
  const { agent_id } = await setAgent(s, agents, changes)
  const worker = s.worker({ tools: TASK_TOOLS, queues: [], require_fence }, agent_id)
  return { ...withTaskVerbs(worker), agent_id }
}

/** Another endpoint of an agent. */
export const sameAgent = (s: Bundle, { agent_id }: Agent): Agent => ({
  ...withTaskVerbs(s.worker({ tools: TASK_TOOLS, queues: [] }, agent_id)),
  agent_id,
})

export const ownerOf = (s: Bundle) => withTaskVerbs(s.human)

interface GoalDraft {
  readonly status?: string
  readonly budget_tokens?: number | null
  readonly budget_dollars_cents?: number | null
  readonly coordinator_agent_id?: number
}

/**
 * Task ids that no other test has. Ids of events are made of them, and the stream that the tests of
 * a file share takes each id once; in one system there is one database, which never repeats one.
 */
export const setupTasks = async (
  t: Test,
  options: Parameters<typeof setup>[1] = {},
): Promise<Bundle> => {
  const s = await setup(t, options)
  await s.db.raw(`alter table tasks alter column task_id restart with ${s.owner_id * 10_000}`)
  return s
}

let slugs = 0

export const newGoal = async (s: Bundle, draft: GoalDraft = {}): Promise<number> => {
  slugs += 1
  const at = new Date(s.clock.now())
  const [row]: { goal_id: number }[] = await s
    .db('goals')
    .insert({
      owner_user_id: s.owner_id,
      slug: `goal-${slugs}`,
      title: 'keep the docs right',
      description: 'a description',
      status: 'active',
      coordinator_agent_id: 1,
      max_spawn_depth: 3,
      create_key_hash: `key-${slugs}`,
      create_input_hash: 'input',
      created_at: at,
      updated_at: at,
      ...draft,
    })
    .returning('goal_id')
  if (row === undefined) throw new Error('no goal was made')
  return row.goal_id
}

interface TaskDraft {
  readonly parent_task_id?: number
  readonly is_leaf?: boolean
  readonly status?: string
  readonly billing_code?: string
  readonly budget_tokens?: number
  readonly budget_dollars_cents?: number
  readonly acceptance_criteria?: string
  readonly verifier?: VerifierConfig
}

let seqs = 0

export const newTask = async (
  s: Bundle,
  goal_id: number,
  { verifier = { kind: 'auto' }, ...draft }: TaskDraft = {},
): Promise<number> => {
  seqs += 1
  const at = new Date(s.clock.now())
  const [row]: { task_id: number }[] = await s
    .db('tasks')
    .insert({
      goal_id,
      owner_user_id: s.owner_id,
      approval_id: 1,
      seq: seqs,
      depth: draft.parent_task_id === undefined ? 0 : 1,
      is_leaf: true,
      title: 'write the page',
      description: 'a description',
      status: 'approved',
      verifier_config: JSON.stringify(verifier),
      verifier_agent_id: verifier.agent_id ?? null,
      ancestry: JSON.stringify([]),
      created_at: at,
      updated_at: at,
      approved_at: at,
      ...draft,
    })
    .returning('task_id')
  if (row === undefined) throw new Error('no task was made')
  return row.task_id
}

export const goalRow = async (s: Bundle, goal_id: number) =>
  await s.db('goals').where({ goal_id }).first()
export const taskRow = async (s: Bundle, task_id: number) =>
  await s.db('tasks').where({ task_id }).first()

export const holdsOf = async (s: Bundle, goal_id: number) =>
  await s.db('budget_holds').where({ goal_id })

/** Events of this owner with this subject, in order. Waits until all that was written has left. */
export const eventsOf = async <T extends { readonly user_id: number }>(
  s: Bundle,
  { subject, schema }: { readonly subject: string; readonly schema: z.ZodType<T> },
): Promise<T[]> => {
  await s.projected()
  await s.tasks.settle()
  const { last_seq, first_seq } = (await s.bus.jsm.streams.info(streams.events)).state
  const found: T[] = []
  for (let seq = Math.max(1, first_seq); seq <= last_seq; seq += 1) {
    const message = await s.bus.jsm.streams.getMessage(streams.events, { seq })
    if (message?.subject !== subject) continue
    const event = decode(schema, message.data)
    if (event.user_id === s.owner_id) found.push(event)
  }
  return found
}

/** Time passes, with a sweep at its end as there is one each second. */
export const pass = async (s: Bundle, seconds: number): Promise<void> => {
  await s.projected()
  s.clock.advance(seconds * 1_000)
  await sweepOnce(s.tasks)
}

export const goalRecord = async (s: Bundle, goal_id: number) =>
  (await createKv(s.bus, buckets.goals, GoalRecord).get(goalKey(s.owner_id, goal_id)))?.value

export const taskRecord = async (s: Bundle, task_id: number) =>
  (await createKv(s.bus, buckets.goals, TaskRecord).get(`${s.owner_id}.task.${task_id}`))?.value

/** The name of the error that a call was refused with. */
export const refusal = async (call: Promise<unknown>): Promise<unknown> => {
  try {
    await call
  } catch (error) {
    if (error instanceof Error && 'details' in error) {
      return (error.details as { error?: unknown } | undefined)?.error // of a ServiceError
    }
    throw error
  }
  return 'nothing was refused'
}
