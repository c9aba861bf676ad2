import { ServiceError, type TaskNode, type TreeEdit } from '@guildhall/contracts'

/** Rules for a proposed tree, beyond its shape. No I/O; trees were parsed, so they are bounded. */

interface PlacedNode {
  /** As in an edit: "" the root, "0" its first subtask, "0.2" the third below that. */
  readonly path: string
  readonly node: TaskNode
}

const below = (path: string, index: number): string =>
  path === '' ? `${index}` : `${path}.${index}`

export const nodesOf = (node: TaskNode, path = ''): readonly PlacedNode[] => [
  { path, node },
  ...(node.children ?? []).flatMap((child, index) => nodesOf(child, below(path, index))),
]

const badEdit = (path: string, problem: string): ServiceError =>
  new ServiceError('invalid_argument', `edits: ${path === '' ? 'the root' : path} ${problem}`)

const checkEdits = (tree: TaskNode, edits: readonly TreeEdit[]): void => {
  const paths = new Set(nodesOf(tree).map(({ path }) => path))
  const seen = new Set<string>()
  const removed = edits.filter(({ remove }) => remove === true).map(({ path }) => path)
  for (const { path, remove } of edits) {
    if (!paths.has(path)) throw badEdit(path, 'is not a node of the tree')
    if (seen.has(path)) throw badEdit(path, 'is named twice')
    if (path === '' && remove === true) throw badEdit(path, 'cannot be removed; reject instead')
    if (removed.some((gone) => path.startsWith(`${gone}.`))) {
      throw badEdit(path, 'lies below a node that these edits remove')
    }
    seen.add(path)
  }
}

/** The tree as the owner wants it. Paths are those of the tree as it was proposed. */
export const editTree = (tree: TaskNode, edits: readonly TreeEdit[]): TaskNode => {
  checkEdits(tree, edits)
  const byPath = new Map(edits.map((edit) => [edit.path, edit]))
  const build = (node: TaskNode, path: string): TaskNode => {
    const { path: _, remove: __, ...edit } = byPath.get(path) ?? { path }
    // What an edit leaves out stays; a field that is there without a value was left out too.
    const changes = Object.fromEntries(
      Object.entries(edit).filter(([, value]) => value !== undefined),
    )
    const children = (node.children ?? []).flatMap((child, index) =>
      byPath.get(below(path, index))?.remove === true ? [] : [build(child, below(path, index))],
    )
    const { children: ___, ...own } = node
    return { ...own, ...changes, ...(children.length === 0 ? {} : { children }) }
  }
  return build(tree, '')
}

export const commandsOf = (tree: TaskNode): readonly string[] =>
  nodesOf(tree).flatMap(({ node }) => node.verifier_config?.cmd ?? [])

export const peersOf = (tree: TaskNode): readonly number[] => [
  ...new Set(nodesOf(tree).flatMap(({ node }) => node.verifier_config?.agent_id ?? [])),
]

export const treeWarnings = (tree: TaskNode, commands_enabled: boolean): readonly string[] => {
  const commands = commandsOf(tree)
  const off =
    commands.length > 0 && !commands_enabled
      ? ['Command verifiers are disabled in your settings: as it stands, this cannot be approved.']
      : []
  return [...off, ...commands.map((cmd) => `Runs a command on the verifier: ${cmd}`)]
}

const OUTLINE_MAX_CHARS = 8_000

/** The titles, indented, for the message; the whole tree is in the approval. */
export const outlineOf = (tree: TaskNode): string => {
  const lines = nodesOf(tree).map(({ path, node }) => {
    const depth = path === '' ? 0 : path.split('.').length
    return `${'  '.repeat(depth)}- ${node.title}`
  })
  const text = lines.join('\n')
  return text.length <= OUTLINE_MAX_CHARS ? text : `${text.slice(0, OUTLINE_MAX_CHARS)}\n…`
}
