import { namedError, type Principal } from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import { type GoalRow, type Held, lockGoalIn } from './store/goals.ts'

/**
 * Who may see and steer a goal. The owner is the tenant: whatever is another owner's is unknown.
 * Within an owner, whoever is granted the operation sees every goal, since any of the owner's agents
 * may claim any task; steering is for the human and the goal's coordinator.
 */

export const goalNotFound = () => namedError('ErrGoalNotFound', 'no such goal')

/** The goal, locked. */
export const lockOwnGoalIn = async (
  trx: Trx,
  { user_id }: Principal,
  goal_id: number,
): Promise<GoalRow & Held> => {
  const goal = await lockGoalIn(trx, { owner_user_id: user_id, goal_id })
  if (goal === undefined) throw goalNotFound()
  return goal
}

export const requireSteering = (principal: Principal, goal: GoalRow): void => {
  if (principal.kind === 'human') return
  if (principal.agent_id === goal.coordinator_agent_id) return
  throw namedError('ErrNotPermitted', 'only the owner of this goal or its coordinator may do that')
}
