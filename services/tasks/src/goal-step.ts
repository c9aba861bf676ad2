import type { CallContext } from '@guildhall/bus'
import { type GoalChanged, type GoalStatus, holderName, namedError } from '@guildhall/contracts'
import { type Trx, transaction } from '@guildhall/db'
import type { Tasks } from './context.ts'
import { lockOwnGoalIn, requireSteering } from './goal-access.ts'
import { announceGoalChangeIn, tellGoalIn } from './goal-news.ts'
import { announceGoalIn } from './goal-projection.ts'
import { goalStatesBefore, mayMoveGoal } from './goal-state.ts'
import { changeGoalIn, type GoalChanges, type GoalRow, type Held } from './store/goals.ts'

/** One step of a goal by somebody's hand: pausing, resuming, completing, cancelling. */

interface Step {
  readonly to: GoalStatus
  readonly change: GoalChanged['change']
  readonly changes: Omit<GoalChanges, 'status'>
  /** For the log and the channel. */
  readonly text: string
}

interface Answer {
  readonly goal_id: number
  readonly status: GoalStatus
}

/**
 * `decide` looks at the locked goal; undefined: it is where it should be, and nothing happens.
 * `alsoIn` is what belongs to the step beside the goal itself, in its transaction.
 */
export const stepGoal = async (
  tasks: Tasks,
  { principal }: Pick<CallContext, 'principal'>,
  goal_id: number,
  decide: (goal: GoalRow & Held) => Step | undefined,
  alsoIn: (trx: Trx, goal: GoalRow, now: Date) => Promise<void> = async () => undefined,
): Promise<Answer> => {
  const now = new Date(tasks.clock.now())
  const status = await transaction(tasks.db, async (trx) => {
    const goal = await lockOwnGoalIn(trx, principal, goal_id)
    requireSteering(principal, goal)
    const step = decide(goal)
    if (step === undefined) return goal.status
    const { to, change, changes, text } = step
    if (goal.status !== to && !mayMoveGoal(goal.status, to)) {
      throw namedError(
        'ErrIllegalTransition',
        `a goal that is ${goal.status} cannot become ${to}`,
        {
          details: { from: goal.status, to },
        },
      )
    }
    await changeGoalIn(trx, goal_id, [to, ...goalStatesBefore(to)], { ...changes, status: to }, now)
    await alsoIn(trx, goal, now)
    const changed = await announceGoalIn(trx, goal_id)
    await announceGoalChangeIn(trx, changed, change, now)
    const news = { kind: `goal_${change}`, body: text, sender: holderName(principal) }
    await tellGoalIn(trx, goal, news, now)
    return to
  })
  await tasks.settle()
  return { goal_id, status }
}
