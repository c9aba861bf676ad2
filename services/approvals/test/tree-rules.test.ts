import type { TaskNode } from '@guildhall/contracts'
import t from 'tap'
import { editTree, nodesOf, outlineOf, treeWarnings } from '../src/tree-rules.ts'

const node = (title: string, rest: Partial<TaskNode> = {}): TaskNode => ({
  title,
  description: 'what there is to do',
  ...rest,
})

const tree = node('root', {
  children: [node('child-1', { children: [node('grandchild')] }), node('child-2')],
})

const titles = (root: TaskNode) => nodesOf(root).map(({ path, node: { title } }) => [path, title])

t.test('paths name the nodes of the tree as it was proposed', async (t) => {
  t.strictSame(titles(tree), [
    ['', 'root'],
    ['0', 'child-1'],
    ['0.0', 'grandchild'],
    ['1', 'child-2'],
  ])
  t.equal(outlineOf(tree), '- root\n  - child-1\n    - grandchild\n  - child-2')
})

t.test('edits remove and change by the paths as proposed', async (t) => {
  const edited = editTree(tree, [
    { path: '0', remove: true },
    { path: '1', title: 'child-two', budget_tokens: 5 },
  ])
  t.strictSame(edited, node('root', { children: [node('child-two', { budget_tokens: 5 })] }))
  t.strictSame(titles(tree).length, 4, 'what was proposed stays as it was')
})

t.test('a node that lost all its subtasks is a leaf', async (t) => {
  const edited = editTree(tree, [{ path: '0.0', remove: true }])
  t.strictSame(edited.children?.[0], node('child-1'))
})

const badEdits = [
  { what: 'the root removed', edits: [{ path: '', remove: true }] },
  { what: 'an unknown path', edits: [{ path: '7' }] },
  { what: 'a path twice', edits: [{ path: '1' }, { path: '1' }] },
  { what: 'a change below what is removed', edits: [{ path: '0', remove: true }, { path: '0.0' }] },
]

for (const { what, edits } of badEdits) {
  t.test(`edits with ${what} are refused`, async (t) => {
    t.throws(() => editTree(tree, edits), { code: 'invalid_argument' })
  })
}

t.test('the owner is warned of each command, and that commands are disabled', async (t) => {
  const runs = node('root', { verifier_config: { kind: 'command', cmd: 'test -s report.txt' } })
  t.strictSame(treeWarnings(runs, true), ['Runs a command on the verifier: test -s report.txt'])
  t.equal(treeWarnings(runs, false).length, 2)
  t.strictSame(treeWarnings(tree, false), [])
})
