import { ServiceError } from './errors.ts'
import { TREE_DEPTH_MAX, TREE_NODES_MAX } from './limits.ts'
import { TaskNode } from './task-tree.ts'

/** The whole check of a proposed tree. Where it is proposed and where it is carried out. */

const PROBLEMS_SHOWN = 10

const invalid = (problems: readonly { path: string; problem: string }[]): ServiceError =>
  new ServiceError(
    'invalid_argument',
    problems.map(({ path, problem }) => `${path}: ${problem}`).join('; '),
    { details: { problems } },
  )

const childrenOf = (node: unknown): readonly unknown[] => {
  if (typeof node !== 'object' || node === null || !('children' in node)) return []
  return Array.isArray(node.children) ? node.children : []
}

/** Before any recursion: a tree that is too large costs no more than counting up to the limit. */
const checkSize = (root: unknown): void => {
  let level: readonly { node: unknown; path: string }[] = [{ node: root, path: 'tree' }]
  let nodes = 0
  for (let depth = 0; level.length > 0; depth += 1) {
    nodes += level.length
    const path = level[0]?.path ?? 'tree'
    if (nodes > TREE_NODES_MAX) {
      throw invalid([{ path: 'tree', problem: `has more than ${TREE_NODES_MAX} nodes` }])
    }
    if (depth >= TREE_DEPTH_MAX) {
      throw invalid([{ path, problem: `lies below level ${TREE_DEPTH_MAX}` }])
    }
    level = level.flatMap(({ node, path: above }) =>
      childrenOf(node).map((child, i) => ({ node: child, path: `${above}.children[${i}]` })),
    )
  }
}

const pathOf = (path: readonly PropertyKey[]): string =>
  path.reduce<string>(
    (text, key) => (typeof key === 'number' ? `${text}[${key}]` : `${text}.${String(key)}`),
    'tree',
  )

/** The tree, or `invalid_argument` with the path of each problem. */
export const parseTree = (value: unknown): TaskNode => {
  checkSize(value)
  const parsed = TaskNode.safeParse(value)
  if (parsed.success) return parsed.data
  throw invalid(
    parsed.error.issues
      .slice(0, PROBLEMS_SHOWN)
      .map(({ path, message }) => ({ path: pathOf(path), problem: message })),
  )
}
