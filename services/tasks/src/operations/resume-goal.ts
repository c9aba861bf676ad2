import type { Handler } from '@guildhall/bus'
import {
  BUDGET_ALERT_PERCENT,
  type InputOf,
  namedError,
  type resumeGoal,
} from '@guildhall/contracts'
import type { Tasks } from '../context.ts'
import { stepGoal } from '../goal-step.ts'
import { percentOfBudget } from '../purses.ts'
import type { GoalRow } from '../store/goals.ts'

type Caps = Pick<GoalRow, 'budget_tokens' | 'budget_dollars_cents'>

const newCaps = (goal: GoalRow, input: InputOf<typeof resumeGoal>): Caps => ({
  budget_tokens: input.new_budget_tokens ?? goal.budget_tokens,
  budget_dollars_cents: input.new_budget_dollars_cents ?? goal.budget_dollars_cents,
})

/** A goal that resumes with nothing left would pause at the next report; so it says what it needs. */
const checkCaps = (goal: GoalRow, caps: Caps): void => {
  const short = [
    { field: 'new_budget_tokens', cap: caps.budget_tokens, spent: goal.spent_tokens },
    {
      field: 'new_budget_dollars_cents',
      cap: caps.budget_dollars_cents,
      spent: goal.spent_dollars_cents,
    },
  ].filter(({ cap, spent }) => cap !== null && cap <= spent)
  if (short.length === 0) return
  const needed = Object.fromEntries(short.map(({ field, spent }) => [field, spent + 1]))
  const text = short
    .map(
      ({ field, cap, spent }) =>
        `${field}: ${spent} are spent, so ${cap} does not suffice; at least ${spent + 1} is needed`,
    )
    .join('; ')
  throw namedError('ErrGoalBudgetExceeded', text, {
    what_to_do: 'Resume the goal with a budget above what is spent.',
    details: { goal_id: goal.goal_id, needed },
  })
}

export const handleResumeGoal =
  (tasks: Tasks): Handler<typeof resumeGoal> =>
  (ctx, input) =>
    stepGoal(tasks, ctx, input.goal_id, (goal) => {
      // A draft becomes active by its first tree, not by being resumed.
      if (goal.status === 'draft') {
        throw namedError(
          'ErrIllegalTransition',
          'a draft becomes active when its tasks are approved',
        )
      }
      const caps = newCaps(goal, input)
      const same =
        caps.budget_tokens === goal.budget_tokens &&
        caps.budget_dollars_cents === goal.budget_dollars_cents
      if (goal.status === 'active' && same) return undefined
      if (goal.status !== 'completed' && goal.status !== 'cancelled') checkCaps(goal, caps)
      const share = percentOfBudget({ ...goal, ...caps })
      const still_over = share !== null && share >= BUDGET_ALERT_PERCENT
      return {
        to: 'active',
        change: 'resumed',
        changes: {
          ...caps,
          pause_reason: null,
          alert_80pct_posted: goal.alert_80pct_posted && still_over,
        },
        text:
          goal.status === 'active'
            ? `Goal "${goal.title}" has another budget.`
            : `Goal "${goal.title}" was resumed.`,
      }
    })
