import type { Trx } from '@guildhall/db'
import { postNoticeIn, tellGoalIn } from './goal-news.ts'
import { announceTasksIn } from './goal-projection.ts'
import { lockGoalIn } from './store/goals.ts'
import {
  childrenOf,
  countOpenTasks,
  findTask,
  goalOfTask,
  moveTaskIn,
  type TaskKey,
} from './store/tasks.ts'
import { parentOutcome } from './task-state.ts'

/**
 * A parent is not worked on: it is done when all its children are, and failed when all have ended and
 * one has failed. Called in the transaction that ended a child, so that no end is ever overlooked.
 */
export const settleParentsIn = async (trx: Trx, key: TaskKey, now: Date): Promise<void> => {
  const goal_key = await goalOfTask(trx, key)
  const goal = goal_key === undefined ? undefined : await lockGoalIn(trx, goal_key)
  if (goal === undefined) return
  const { owner_user_id, goal_id } = goal
  const ended: number[] = []
  let child = await findTask(trx, key)
  // Upwards until a parent still has open children; a tree is at most TREE_DEPTH_MAX high.
  while (child?.parent_task_id != null) {
    const parent = await findTask(trx, { owner_user_id, task_id: child.parent_task_id })
    if (parent === undefined) break
    const children = await childrenOf(trx, parent.task_id)
    const outcome = parentOutcome(children.map(({ status }) => status))
    if (outcome === undefined) break
    const failed = children.filter(({ status }) => status === 'failed')
    const failure_reason =
      failed.length === 0 ? null : `failed: task ${failed.map(({ task_id }) => task_id).join(', ')}`
    const changes = { completed_at: now, failure_reason }
    const moved = await moveTaskIn(trx, parent, outcome, changes, now)
    if (!moved) break
    ended.push(parent.task_id)
    await tellGoalIn(
      trx,
      goal,
      {
        kind: 'task_ended',
        body: `Task ${parent.task_id} "${parent.title}" is ${outcome}: all its subtasks have ended.`,
        metadata: { task_id: parent.task_id, from: parent.status, to: outcome },
      },
      now,
    )
    child = parent
  }
  await announceTasksIn(trx, ended)
  if (goal.status !== 'active' || (await countOpenTasks(trx, goal_id)) > 0) return
  await postNoticeIn(
    trx,
    owner_user_id,
    { kind: 'agent', agent_id: goal.coordinator_agent_id },
    `Every task of goal ${goal_id} "${goal.title}" has ended. Complete the goal, propose more work, or mark it stuck.`,
    { kind: 'goal_tasks_ended', goal_id },
    now,
  )
}
