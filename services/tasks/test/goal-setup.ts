import { createKv, publish } from '@guildhall/bus'
import {
  AgentRecord,
  type ApprovalDecided,
  agentKey,
  approvalDecided,
  buckets,
  createGoal,
  GoalRecord,
  getGoal,
  goalKey,
  type OutputOf,
  type ServiceError,
  type Task,
  type TaskNode,
  TaskRecord,
  type TreeSettled,
  taskKey,
  tools,
  treeSettled,
} from '@guildhall/contracts'
import type { Db } from '@guildhall/db'
import { waitFor } from '@guildhall/testing'
import type { Test } from 'tap'
import { type Bundle, setup, type Worker, workerFor } from './setup.ts'

/** What tests of goals have beside a bundle: agents as approvals publishes them, trees it approved. */

const DESCRIPTION = 'What is to be reached, in a sentence.'

export const node = (title: string, more: Partial<TaskNode> = {}): TaskNode => ({
  title,
  description: DESCRIPTION,
  ...more,
})

type Goal = OutputOf<typeof createGoal>

export interface GoalBundle extends Bundle {
  readonly coordinator: Worker
  /** A human with goals of their own. */
  readonly stranger: Worker
  agent(record?: Partial<AgentRecord>): Promise<Worker>
  goal(input?: Record<string, unknown>, by?: Worker): Promise<Goal>
  show(goal_id: number): Promise<OutputOf<typeof getGoal>>
  /** Publishes the decision; returns its approval. */
  decide(goal_id: number, tree: unknown, more?: Partial<ApprovalDecided>): Promise<number>
  /** What was told about an approval, once it was. */
  settled(approval_id: number): Promise<TreeSettled>
  /** A tree that was approved and materialised. */
  tree(goal_id: number, tree: TaskNode): Promise<readonly Task[]>
  goalEntry(goal_id: number): Promise<GoalRecord | undefined>
  taskEntry(task_id: number): Promise<TaskRecord | undefined>
  eventsOf(subject: string): Promise<unknown[]>
}

let approvals = 0

/** Until all that was committed has left the outbox; a large tree takes a while. */
const relayed = async (db: Db): Promise<void> => {
  await waitFor(async () => (await db('outbox').select('id').limit(1)).length === 0, {
    what: 'the outbox to be empty',
    timeout_ms: 60_000,
  })
}

export const setupGoals = async (
  t: Test,
  options: Parameters<typeof setup>[1] = {},
): Promise<GoalBundle> => {
  const s = await setup(t, options)
  const { bus, db, owner_id } = s
  const scope = { tools: tools.map((tool) => tool.name) }
  const agents = createKv(bus, buckets.agents, AgentRecord)
  const goals = createKv(bus, buckets.goals, GoalRecord)
  const tasks = createKv(bus, buckets.goals, TaskRecord)

  const agent = async (record: Partial<AgentRecord> = {}): Promise<Worker> => {
    const worker = s.worker(scope, record.agent_id)
    const { agent_id } = worker.principal
    await agents.put(agentKey(owner_id, agent_id), {
      v: 1,
      version: 1,
      agent_id,
      user_id: owner_id,
      name: `agent-${agent_id}`,
      display_name: `Agent ${agent_id}`,
      status: 'active',
      autonomy_tier: 'assisted',
      tool_scope: [],
      mcp_servers: [],
      config_hash: `hash-${agent_id}`,
      spawn_depth: 0,
      parent_agent_id: null,
      parent_agent_name: null,
      coordinator_template: null,
      ...record,
    })
    return worker
  }
  const coordinator = await agent({ coordinator_template: 'default' })

  const show = (goal_id: number) => s.human.call(getGoal, { goal_id })

  /** Events of this owner on a subject, oldest first. */
  const eventsOf = async (subject: string): Promise<unknown[]> => {
    await relayed(db)
    const found: unknown[] = []
    const { last_seq } = (await bus.jsm.streams.info('EVENTS')).state
    for (let seq = 1; seq <= last_seq; seq += 1) {
      const message = await bus.jsm.streams.getMessage('EVENTS', { seq })
      if (message.subject !== subject) continue
      const event: { user_id?: number } = message.json()
      if (event.user_id === owner_id) found.push(event)
    }
    return found
  }

  const decide = async (
    goal_id: number,
    tree: unknown,
    more: Partial<ApprovalDecided> = {},
  ): Promise<number> => {
    approvals += 1
    const event: ApprovalDecided = {
      v: 1,
      user_id: owner_id,
      approval_id: approvals,
      round: 1,
      kind: 'task_tree',
      decision: 'approved',
      agent_id: coordinator.principal.agent_id,
      goal_id,
      task_id: null,
      resource_name: null,
      payload: { tree },
      reason: null,
      decided_by_user_id: owner_id,
      at: s.clock.now(),
      ...more,
    }
    await publish(bus, approvalDecided.subject, event)
    return event.approval_id
  }

  const settled = async (approval_id: number): Promise<TreeSettled> => {
    // The inbox row and the event are one transaction; so the row tells when to look.
    await waitFor(
      async () => {
        const rows = await db('inbox').where({ consumer: 'materialise' })
        return rows.some(({ event_id }) => String(event_id).startsWith(`${approval_id}.`))
      },
      { what: 'the decision to be carried out' },
    )
    const events = (await eventsOf(treeSettled.subject)) as TreeSettled[] // written by that schema
    const last = events.filter((event) => event.approval_id === approval_id).at(-1)
    if (last === undefined) throw new Error('nothing was told about the tree')
    return last
  }

  return {
    ...s,
    coordinator,
    stranger: workerFor(s.caller, { kind: 'human', user_id: owner_id + 1_000_000 }),
    agent,
    show,
    decide,
    settled,
    eventsOf,
    goal: (input = {}, by = s.human) =>
      by.call(createGoal, {
        title: 'Keep docs.mcpproxy.app accurate',
        description: 'Forty characters that say what to reach.',
        ...input,
      }),
    tree: async (goal_id, tree) => {
      const approval_id = await decide(goal_id, tree)
      const { outcome, message, task_ids } = await settled(approval_id)
      if (outcome !== 'materialised') throw new Error(`refused: ${message}`)
      const { tasks_tree } = await show(goal_id)
      return tasks_tree.filter(({ task_id }) => task_ids.includes(task_id))
    },
    goalEntry: async (goal_id) => (await goals.get(goalKey(owner_id, goal_id)))?.value,
    taskEntry: async (task_id) => (await tasks.get(taskKey(owner_id, task_id)))?.value,
  }
}

/** The name by which clients know the error. */
export const refusedAs = async (
  t: Test,
  promise: Promise<unknown>,
  name: string,
): Promise<ServiceError> => {
  try {
    await promise
  } catch (error) {
    const refused = error as ServiceError // told by the assertion below
    t.equal(refused.details?.error, name, refused.message)
    return refused
  }
  t.fail(`expected ${name}`)
  throw new Error(`expected ${name}`)
}
