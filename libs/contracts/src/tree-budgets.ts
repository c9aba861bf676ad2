import { namedError } from './named-errors.ts'
import type { TaskNode } from './task-tree.ts'

/**
 * Whether the budgets of a tree fit into each other and into what is left above it. Asked where a
 * tree is proposed and again where it is carried out.
 */

/** Null: there is no cap. */
export interface BudgetLeft {
  readonly tokens: number | null
  readonly dollars_cents: number | null
}

const units = [
  { unit: 'tokens', budget: (node: TaskNode) => node.budget_tokens },
  { unit: 'dollars_cents', budget: (node: TaskNode) => node.budget_dollars_cents },
] as const

type Unit = (typeof units)[number]

const refuse = (path: string, unit: Unit['unit'], asked: number, left: number): never => {
  throw namedError(
    'ErrBudgetInsufficient',
    `${path}: ${asked} ${unit} are asked for, and there are ${left}`,
    { details: { path, unit, asked, left } },
  )
}

/** What a subtree asks for: its root's budget, or, without one, what its children ask for together. */
const asked = (node: TaskNode, path: string, one: Unit): number => {
  const below = (node.children ?? []).reduce(
    (sum, child, i) => sum + asked(child, `${path}.children[${i}]`, one),
    0,
  )
  const own = one.budget(node)
  if (own === undefined) return below
  return below > own ? refuse(`${path}.children`, one.unit, below, own) : own
}

/** Throws ErrBudgetInsufficient, naming the path. The tree is one that `parseTree` returned. */
export const checkTreeBudgets = (tree: TaskNode, left: BudgetLeft): void => {
  for (const one of units) {
    const total = asked(tree, 'tree', one)
    const cap = left[one.unit]
    if (cap !== null && total > cap) refuse('tree', one.unit, total, cap)
  }
}
