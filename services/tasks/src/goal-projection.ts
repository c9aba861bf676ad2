import { advanceVersion, type Bus, createKv } from '@guildhall/bus'
import {
  buckets,
  GoalRecord,
  goalChannelId,
  goalKey,
  TaskRecord,
  taskKey,
} from '@guildhall/contracts'
import { addAllToOutbox, addToOutbox, type Trx } from '@guildhall/db'
import { z } from 'zod'
import { type GoalRow, type Held, nextGoalVersionIn } from './store/goals.ts'
import { nextTaskVersionsIn, type Subtree, type TaskRow } from './store/tasks.ts'

/**
 * The bucket `goals`, from which other services read goals and tasks. PostgreSQL is the authority;
 * an entry is a row of the outbox in the transaction of the change, and only ever moves to a higher
 * version, so the relay and the reconciler may bring it in any order and any number of times.
 */

export const PROJECT_GOALS = `project.${buckets.goals}`

export const Projected = z.union([GoalRecord, TaskRecord])
export type Projected = z.infer<typeof Projected>

/** What is left of a cap; null: there is none. */
const remaining = (cap: number | null, used: number): number | null =>
  cap === null ? null : Math.max(0, cap - used)

export const goalRecord = (row: GoalRow & Held): GoalRecord => ({
  v: 1,
  version: row.version,
  goal_id: row.goal_id,
  user_id: row.owner_user_id,
  slug: row.slug,
  title: row.title,
  channel_id: goalChannelId(row.goal_id),
  coordinator_agent_id: row.coordinator_agent_id,
  status: row.status,
  max_spawn_depth: row.max_spawn_depth,
  budget_tokens: row.budget_tokens,
  budget_dollars_cents: row.budget_dollars_cents,
  remaining_tokens: remaining(row.budget_tokens, row.spent_tokens + row.held_tokens),
  remaining_dollars_cents: remaining(
    row.budget_dollars_cents,
    row.spent_dollars_cents + row.held_dollars_cents,
  ),
})

export const taskRecord = (row: TaskRow & Subtree): TaskRecord => ({
  v: 1,
  version: row.version,
  task_id: row.task_id,
  goal_id: row.goal_id,
  user_id: row.owner_user_id,
  parent_task_id: row.parent_task_id,
  title: row.title,
  status: row.status,
  billing_code: row.billing_code,
  assignee_agent_id: row.assignee_agent_id,
  verifier_agent_id: row.verifier_agent_id,
  remaining_tokens: remaining(
    row.budget_tokens,
    row.subtree_spent_tokens + row.subtree_held_tokens,
  ),
  remaining_dollars_cents: remaining(
    row.budget_dollars_cents,
    row.subtree_spent_cents + row.subtree_held_cents,
  ),
})

const keyOf = (record: Projected): string =>
  'task_id' in record
    ? taskKey(record.user_id, record.task_id)
    : goalKey(record.user_id, record.goal_id)

/** Last in a transaction that changed the goal, its spend or its holds. */
export const announceGoalIn = async (trx: Trx, goal_id: number): Promise<GoalRow & Held> => {
  const row = await nextGoalVersionIn(trx, goal_id)
  if (row === undefined) throw new Error('a goal that is locked exists')
  const record = goalRecord(row)
  await addToOutbox(trx, { subject: PROJECT_GOALS, key: keyOf(record), payload: record })
  return row
}

/** Likewise for tasks that changed, or whose subtree spends or holds something else now. */
export const announceTasksIn = async (
  trx: Trx,
  task_ids: readonly number[],
): Promise<(TaskRow & Subtree)[]> => {
  if (task_ids.length === 0) return []
  const rows = await nextTaskVersionsIn(trx, task_ids)
  const records = rows.map(taskRecord)
  await addAllToOutbox(
    trx,
    records.map((record) => ({ subject: PROJECT_GOALS, key: keyOf(record), payload: record })),
  )
  return rows
}

export interface GoalProjection {
  /** True when the bucket changed. */
  apply(record: Projected): Promise<boolean>
}

export const openGoalProjection = (bus: Bus): GoalProjection => {
  const kv = createKv(bus, buckets.goals, Projected)
  return { apply: (record) => advanceVersion(kv, keyOf(record), record) }
}
