import { namedError } from '@guildhall/contracts'
import { requireActive } from './budget.ts'
import { percentOfBudget } from './purses.ts'
import type { GoalRow } from './store/goals.ts'

/** Asked before anything is held, so that the goal's state is said before the task's. */
export const requireClaimable = (goal: GoalRow): void => {
  requireActive(goal)
  if ((percentOfBudget(goal) ?? 0) < 100) return
  throw namedError('ErrGoalBudgetExceeded', `the budget of goal ${goal.goal_id} is used up`)
}
