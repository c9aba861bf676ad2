import { type Goal, goalChannelId, type Task, taskItemId } from '@guildhall/contracts'
import type { GoalRow, Held } from './store/goals.ts'
import type { TaskRow } from './store/tasks.ts'

/** Rows as callers see them. */

export const toGoal = (row: GoalRow & Held): Goal => {
  const { version: _version, ...shown } = row
  return { ...shown, channel_id: goalChannelId(row.goal_id) }
}

export const toTask = (row: TaskRow): Task => {
  const {
    owner_user_id: _owner,
    approval_id: _approval,
    seq: _seq,
    verifier_agent_id: _verifier,
    revision: _revision,
    version: _version,
    updated_at: _updated,
    ...shown
  } = row
  return { ...shown, item_id: taskItemId(row.task_id) }
}
