import type { Handler } from '@guildhall/bus'
import type { cancelGoal } from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import { cancelClaimRecordsIn } from '../claim-records.ts'
import type { Tasks } from '../context.ts'
import { announceTasksIn } from '../goal-projection.ts'
import { stepGoal } from '../goal-step.ts'
import type { GoalRow } from '../store/goals.ts'
import { removeHoldsOfGoalIn } from '../store/holds.ts'
import { storableText } from '../store/json.ts'
import { cancelOpenTasksIn } from '../store/tasks.ts'

/** Whoever holds one of them loses it as soon as its claim record has followed. */
const cancelTasksIn = async (trx: Trx, { goal_id }: GoalRow, now: Date): Promise<void> => {
  await removeHoldsOfGoalIn(trx, goal_id)
  const cancelled = await cancelOpenTasksIn(trx, goal_id, now)
  await announceTasksIn(
    trx,
    cancelled.map(({ task_id }) => task_id),
  )
  const leaves = cancelled.filter(({ is_leaf }) => is_leaf)
  await cancelClaimRecordsIn(
    trx,
    leaves.map(({ owner_user_id: owner_id, task_id }) => ({ owner_id, task_id })),
  )
}

export const handleCancelGoal =
  (tasks: Tasks): Handler<typeof cancelGoal> =>
  (ctx, { goal_id, reason }) =>
    stepGoal(
      tasks,
      ctx,
      goal_id,
      ({ status, title }) => {
        if (status === 'cancelled') return undefined
        const why = reason === undefined ? '.' : `: ${storableText(reason)}`
        return {
          to: 'cancelled',
          change: 'cancelled',
          changes: { pause_reason: null, completed_at: new Date(tasks.clock.now()) },
          text: `Goal "${title}" was cancelled${why}`,
        }
      },
      cancelTasksIn,
    )
