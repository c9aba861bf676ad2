import t from 'tap'
import type { TaskNode } from '../src/task-tree.ts'
import { checkTreeBudgets } from '../src/tree-budgets.ts'

const node = (budget_tokens: number | undefined, children: TaskNode[] = []): TaskNode => ({
  title: 'a task',
  description: 'what is to be done',
  budget_tokens,
  children,
})

const NO_CAP = { tokens: null, dollars_cents: null }

t.test('budgets fit into their parent and into what is left above', async (t) => {
  const tree = node(1_000, [node(400), node(undefined, [node(300), node(300)])])
  t.doesNotThrow(() => checkTreeBudgets(tree, NO_CAP))
  t.doesNotThrow(() => checkTreeBudgets(tree, { tokens: 1_000, dollars_cents: 0 }))
  t.throws(() => checkTreeBudgets(tree, { tokens: 999, dollars_cents: null }), {
    code: 'budget_exceeded',
    message: 'tree: 1000 tokens are asked for, and there are 999',
    details: { error: 'ErrBudgetInsufficient' },
  })
})

t.test('a task without a budget passes on what its children ask for', async (t) => {
  const tree = node(undefined, [node(700, [node(undefined, [node(400), node(400)])])])
  t.throws(() => checkTreeBudgets(tree, NO_CAP), {
    message: 'tree.children[0].children: 800 tokens are asked for, and there are 700',
  })
})

t.test('zero is a budget: nothing fits into it but zero', async (t) => {
  t.doesNotThrow(() => checkTreeBudgets(node(0, [node(0)]), { tokens: 0, dollars_cents: 0 }))
  t.throws(() => checkTreeBudgets(node(0, [node(1)]), NO_CAP), { code: 'budget_exceeded' })
})

const cents = (budget_dollars_cents: number | undefined, children: TaskNode[] = []): TaskNode => ({
  title: 'a task',
  description: 'what is to be done',
  budget_dollars_cents,
  children,
})

const insufficient = { code: 'budget_exceeded', details: { error: 'ErrBudgetInsufficient' } }

t.test('scenario 29: a child that asks for more than its parent has is refused', async (t) => {
  t.throws(() => checkTreeBudgets(node(1_000, [node(1_200)]), NO_CAP), insufficient)
  t.doesNotThrow(() => checkTreeBudgets(node(1_000, [node(1_000)]), NO_CAP))
})

t.test('children share: together they fit into their parent, also across a level', async (t) => {
  const shared = (second: number) => cents(100, [cents(undefined, [cents(60)]), cents(second)])
  t.throws(() => checkTreeBudgets(shared(41), NO_CAP), insufficient)
  t.doesNotThrow(() => checkTreeBudgets(shared(40), NO_CAP))
})

t.test('the whole fits into what the goal has left; zero is a cap', async (t) => {
  for (const [tokens, fits] of [
    [9, false],
    [0, false],
    [10, true],
  ] as const) {
    const check = () => checkTreeBudgets(node(10), { ...NO_CAP, tokens })
    if (fits) t.doesNotThrow(check)
    else t.throws(check, insufficient)
  }
  t.doesNotThrow(() => checkTreeBudgets(node(undefined), { ...NO_CAP, tokens: 0 }))
})
