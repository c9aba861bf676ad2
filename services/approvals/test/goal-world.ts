import { createKv } from '@guildhall/bus'
import {
  type AgentPrincipal,
  buckets,
  createAgent,
  type ErrorName,
  GoalRecord,
  goalChannelId,
  goalKey,
  type InputOf,
  type Message,
  namedErrors,
  type Principal,
  proposeTaskTree,
  readChannel,
  ServiceError,
  streams,
  TaskRecord,
  taskItemId,
  taskKey,
  WorkRecord,
  workKey,
} from '@guildhall/contracts'
import type { Test } from 'tap'
import type { z } from 'zod'
import { type EventKind, eventsOf } from './events.ts'
import { agentOf, type Setup, setup, tableRows } from './setup.ts'

/** What the tasks service would have written to the bus, written by the test. */

const SCOPE = ['messages:read', 'messages:send', 'channels:read', 'reactions:add']

export const TREE: InputOf<typeof proposeTaskTree>['tree'] = {
  title: 'root task',
  description: 'what there is to do',
  children: [
    {
      title: 'child-1',
      description: 'what there is to do',
      children: [{ title: 'grandchild', description: 'what there is to do' }],
    },
    { title: 'child-2', description: 'what there is to do' },
  ],
}

/** What a caller sees of an error that has a name. */
export const named = (error: ErrorName) => ({
  code: namedErrors[error].code,
  details: { error },
})

/** Ids of goals and tasks are global, and the tests of a file share their buckets. */
let last_id = 100
const nextId = (): number => {
  last_id += 1
  return last_id
}

export const putGoal = async (
  s: Setup,
  owner: Principal,
  coordinator_agent_id: number,
  changes: Partial<GoalRecord> = {},
): Promise<GoalRecord> => {
  const goal_id = changes.goal_id ?? nextId()
  const goal: GoalRecord = {
    v: 1,
    version: 1,
    goal_id,
    user_id: owner.user_id,
    slug: `goal-${goal_id}`,
    title: 'Keep the docs accurate',
    channel_id: goalChannelId(goal_id),
    coordinator_agent_id,
    status: 'draft',
    max_spawn_depth: 3,
    budget_tokens: null,
    budget_dollars_cents: null,
    remaining_tokens: null,
    remaining_dollars_cents: null,
    ...changes,
  }
  await createKv(s.bus, buckets.goals, GoalRecord).put(goalKey(owner.user_id, goal_id), goal)
  return goal
}

export const putTask = async (
  s: Setup,
  { user_id, goal_id }: GoalRecord,
  changes: Partial<TaskRecord> = {},
): Promise<TaskRecord> => {
  const task_id = changes.task_id ?? nextId()
  const task: TaskRecord = {
    v: 1,
    version: 1,
    task_id,
    goal_id,
    user_id,
    parent_task_id: null,
    title: 'Scan the docs',
    status: 'approved',
    billing_code: 'docs/scan',
    assignee_agent_id: null,
    verifier_agent_id: null,
    remaining_tokens: null,
    remaining_dollars_cents: null,
    ...changes,
  }
  await createKv(s.bus, buckets.goals, TaskRecord).put(taskKey(user_id, task_id), task)
  return task
}

/** The agent holds the task's lease until then. */
export const holdTask = async (
  s: Setup,
  { user_id, goal_id, task_id, title }: TaskRecord,
  agent_id: number,
  lease_until = s.clock.now() + 60_000,
): Promise<void> => {
  const now = s.clock.now()
  const id = taskItemId(task_id)
  await createKv(s.bus, buckets.work, WorkRecord).put(workKey(user_id, id), {
    v: 1,
    id,
    owner_id: user_id,
    queue: `goal-${goal_id}`,
    priority: 'normal',
    state: 'claimed',
    title,
    created_at: now,
    updated_at: now,
    claimable_at: now,
    payload_size: 0,
    content_type: 'application/json',
    attempt: 1,
    max_attempts: 5,
    attempts_total: 1,
    holder: `agent:${agent_id}`,
    lease_until,
    prior_attempts: [],
    dead_letter: false,
    task: { task_id, goal_id, verifier: { kind: 'auto' } },
  })
}

/** An agent of the owner with an endpoint that may do whatever an agent can be granted. */
export const newAgent = async (
  s: Setup,
  owner: Principal,
  input: InputOf<typeof createAgent>,
): Promise<AgentPrincipal> => {
  const { agent_id } = await s.call(createAgent, input, { principal: owner })
  const { endpoint } = await s.vendTo(owner, agent_id)
  return agentOf(endpoint)
}

/** A draft goal of ann's with its coordinator, and a task below it. */
export const goalWorld = async (t: Test, changes: Partial<GoalRecord> = {}) => {
  const s = await setup(t)
  // The tests of a file share a stream: what is there already is of an earlier one.
  const { state } = await s.bus.jsm.streams.info(streams.events)
  const events = <S extends z.ZodType>(kind: EventKind<S>) => eventsOf(s, kind, state.last_seq)
  const coordinator = await newAgent(s, s.ann, {
    name: 'planner',
    model: 'model-1',
    tool_scope: SCOPE,
    autonomy_tier: 'assisted',
  })
  const goal = await putGoal(s, s.ann, coordinator.agent_id, changes)
  const task = await putTask(s, goal)
  const propose = (
    input: Partial<InputOf<typeof proposeTaskTree>> = {},
    principal: Principal = coordinator,
  ) => s.call(proposeTaskTree, { goal_id: goal.goal_id, tree: TREE, ...input }, { principal })
  /** Newest first. A channel in which nothing was ever said may not be there yet. */
  const messages = async (channel: string): Promise<readonly Message[]> => {
    try {
      return (await s.call(readChannel, { channel, limit: 50 }, { principal: s.ann })).messages
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'not_found') return []
      throw error
    }
  }
  const count = async (table: string): Promise<number> =>
    Number((await tableRows(s.db, `select count(*) as n from ${table}`))[0]?.n)
  return { ...s, s, events, coordinator, goal, task, propose, messages, count }
}

export type GoalWorld = Awaited<ReturnType<typeof goalWorld>>
