import { BUDGET_ALERT_PERCENT } from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import { postNoticeIn, tellGoalIn } from './goal-news.ts'
import { goalStatesBefore } from './goal-state.ts'
import { percentOfBudget, taskPurses } from './purses.ts'
import { changeGoalIn, type GoalRow } from './store/goals.ts'
import type { Subtree, TaskRow } from './store/tasks.ts'

/** The lines that spending may cross, and what happens once when it does. */

/** Every subtree budget that this usage used up is said once: when the line is crossed. */
export const tellUsedUpIn = async (
  trx: Trx,
  goal: GoalRow,
  chain: readonly (TaskRow & Subtree)[],
  used: { readonly tokens: number; readonly dollars_cents: number },
  now: Date,
): Promise<void> => {
  for (const task of chain) {
    const { tokens, cents } = taskPurses(task)
    const crossed = [
      { purse: tokens, by: used.tokens },
      { purse: cents, by: used.dollars_cents },
    ].some(
      ({ purse, by }) =>
        purse.cap !== null && purse.spent >= purse.cap && purse.spent - by < purse.cap,
    )
    if (!crossed || task.is_leaf) continue
    await tellGoalIn(
      trx,
      goal,
      {
        kind: 'task_budget_used_up',
        body: `Task ${task.task_id} "${task.title}" has used up its budget: nothing below it can be claimed.`,
        metadata: { task_id: task.task_id },
      },
      now,
    )
  }
}

const spendText = (goal: GoalRow): string => {
  const parts = [
    goal.budget_tokens === null ? [] : [`${goal.spent_tokens} of ${goal.budget_tokens} tokens`],
    goal.budget_dollars_cents === null
      ? []
      : [`${goal.spent_dollars_cents} of ${goal.budget_dollars_cents} US cents`],
  ]
  return parts.flat().join(', ')
}

/** The flag is set in the transaction of the message, so there is one of each. */
export const alertIn = async (trx: Trx, goal: GoalRow, now: Date): Promise<void> => {
  const share = percentOfBudget(goal)
  if (share === null || share < BUDGET_ALERT_PERCENT || goal.alert_80pct_posted) return
  await changeGoalIn(trx, goal.goal_id, [goal.status], { alert_80pct_posted: true }, now)
  await tellGoalIn(
    trx,
    goal,
    {
      kind: 'budget_alert',
      body: `${BUDGET_ALERT_PERCENT} % of the budget is used: ${spendText(goal)}.`,
      metadata: { percent: Math.floor(share) },
    },
    now,
  )
}

/** True: it was this usage that used up the budget. */
export const pauseIn = async (trx: Trx, goal: GoalRow, now: Date): Promise<boolean> => {
  const share = percentOfBudget(goal)
  if (share === null || share < 100) return false
  const pause_reason = 'the budget is used up'
  const paused = await changeGoalIn(
    trx,
    goal.goal_id,
    goalStatesBefore('paused'),
    { status: 'paused', pause_reason },
    now,
  )
  if (!paused) return false
  const body = `Goal "${goal.title}" is paused, its budget is used up: ${spendText(goal)}. Nothing new can be claimed until its owner resumes it with a larger one.`
  await tellGoalIn(trx, goal, { kind: 'budget_pause', body }, now)
  await postNoticeIn(
    trx,
    goal.owner_user_id,
    { kind: 'owner' },
    body,
    { kind: 'budget_pause', goal_id: goal.goal_id },
    now,
  )
  return true
}
