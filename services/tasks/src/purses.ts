import type { GoalRow, Held } from './store/goals.ts'
import type { Subtree, TaskRow } from './store/tasks.ts'

/** The caps of a goal, or of a task and everything below it, and what is left of them. */

interface Purse {
  readonly cap: number | null
  readonly spent: number
  readonly held: number
}

export type Purses = Readonly<Record<'tokens' | 'cents', Purse>>

/** With nothing left to spend even work without an estimate is refused: a cap of zero is one. */
export const isUsedUp = ({ cap, spent }: Purse): boolean => cap !== null && spent >= cap

export const isOverdrawn = (purse: Purse): boolean =>
  purse.cap !== null && purse.spent + purse.held > purse.cap

export const goalPurses = (goal: GoalRow & Held): Purses => ({
  tokens: { cap: goal.budget_tokens, spent: goal.spent_tokens, held: goal.held_tokens },
  cents: {
    cap: goal.budget_dollars_cents,
    spent: goal.spent_dollars_cents,
    held: goal.held_dollars_cents,
  },
})

export const taskPurses = (task: TaskRow & Subtree): Purses => ({
  tokens: {
    cap: task.budget_tokens,
    spent: task.subtree_spent_tokens,
    held: task.subtree_held_tokens,
  },
  cents: {
    cap: task.budget_dollars_cents,
    spent: task.subtree_spent_cents,
    held: task.subtree_held_cents,
  },
})

/** How far the fuller of the two budgets is used; null: there is no cap. */
export const percentOfBudget = (goal: GoalRow): number | null => {
  const { tokens, cents } = goalPurses({ ...goal, held_tokens: 0, held_dollars_cents: 0 })
  const shares = [tokens, cents].flatMap(({ cap, spent }) =>
    cap === null ? [] : [cap === 0 ? 100 : (spent * 100) / cap],
  )
  return shares.length === 0 ? null : Math.max(...shares)
}
