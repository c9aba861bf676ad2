import t from 'tap'
import { parseTree, TREE_DEPTH_MAX, TREE_NODES_MAX } from '../src/index.ts'

const node = (title: string, children: unknown[] = []) => ({
  title,
  description: 'does what it says',
  ...(children.length === 0 ? {} : { children }),
})

const chain = (levels: number): unknown =>
  levels === 1 ? node('leaf') : node('inner', [chain(levels - 1)])

t.test('a tree of any allowed shape is taken as it is', async (t) => {
  const tree = node('root', [node('child-1', [node('grandchild')]), node('child-2')])
  t.strictSame(parseTree(tree), tree)
  t.doesNotThrow(() => parseTree(chain(TREE_DEPTH_MAX)))
  const wide = node(
    'root',
    Array.from({ length: TREE_NODES_MAX - 1 }, (_, i) => node(`task ${i}`)),
  )
  t.doesNotThrow(() => parseTree(wide))
})

t.test('a tree that is too deep, too large or misshapen is refused by path', async (t) => {
  const refused = (tree: unknown, message: RegExp) =>
    t.throws(() => parseTree(tree), { code: 'invalid_argument', message })
  refused(chain(TREE_DEPTH_MAX + 1), /children\[0\]: lies below level 16/)
  refused(
    node(
      'root',
      Array.from({ length: TREE_NODES_MAX }, () => node('task')),
    ),
    /more than 500 nodes/,
  )
  refused(node('root', [node('ok', [node('no')])]), /tree\.children\[0\]\.children\[0\]\.title/)
  refused({ ...node('root'), surprise: 1 }, /tree: Unrecognized key/)
  refused(
    { ...node('root'), verifier_config: { kind: 'peer' } },
    /tree\.verifier_config\.agent_id: is required for a peer/,
  )
  refused({ ...node('root'), verifier_config: { kind: 'auto', cmd: 'true' } }, /cmd/)
  refused('a tree', /tree: /)
})
