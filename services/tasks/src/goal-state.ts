import { GoalStatus } from '@guildhall/contracts'

/** Which status of a goal may follow which. Every statement that moves one asks here. */
const goalMoves: Readonly<Record<GoalStatus, readonly GoalStatus[]>> = {
  draft: ['active', 'stuck', 'completed', 'cancelled'],
  active: ['paused', 'stuck', 'completed', 'cancelled'],
  paused: ['active', 'stuck', 'completed', 'cancelled'],
  stuck: ['active', 'completed', 'cancelled'],
  completed: [],
  cancelled: [],
}

export const mayMoveGoal = (from: GoalStatus, to: GoalStatus): boolean =>
  goalMoves[from].includes(to)

export const goalStatesBefore = (to: GoalStatus): readonly GoalStatus[] =>
  GoalStatus.options.filter((from) => mayMoveGoal(from, to))
