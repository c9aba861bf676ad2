import {
  ANCESTRY_MAX_BYTES,
  AUTO_VERIFIER,
  namedError,
  type Task,
  type TaskNode,
} from '@guildhall/contracts'

/** The rows that a tree becomes: depth first, parents before their children. Pure. */

export interface PlannedTask {
  readonly task_id: number
  readonly parent_task_id: number | null
  readonly depth: number
  readonly is_leaf: boolean
  readonly ancestry: Task['ancestry']
  readonly node: TaskNode
}

export const countNodes = (node: TaskNode): number =>
  (node.children ?? []).reduce((sum, child) => sum + countNodes(child), 1)

/** Ids of the agents that are named as peers, each once. */
export const peersOf = (node: TaskNode): readonly number[] => {
  const own = node.verifier_config?.agent_id
  const below = (node.children ?? []).flatMap(peersOf)
  return [...new Set(own === undefined ? below : [own, ...below])]
}

export const verifierOf = (node: TaskNode) => node.verifier_config ?? AUTO_VERIFIER

/** `ids` has one for each node. Throws ErrAncestryOverflow. */
export const planTree = (tree: TaskNode, ids: readonly number[]): PlannedTask[] => {
  const planned: PlannedTask[] = []
  const visit = (node: TaskNode, parent: PlannedTask | undefined): void => {
    const task_id = ids[planned.length]
    if (task_id === undefined) throw new Error('there is an id for each node')
    const ancestry = parent === undefined ? [] : [...parent.ancestry, ancestorOf(parent)]
    if (Buffer.byteLength(JSON.stringify(ancestry)) > ANCESTRY_MAX_BYTES) {
      throw namedError(
        'ErrAncestryOverflow',
        `what "${node.title}" would be told of the tasks above it is over ${ANCESTRY_MAX_BYTES} bytes`,
      )
    }
    const task: PlannedTask = {
      task_id,
      parent_task_id: parent?.task_id ?? null,
      depth: parent === undefined ? 0 : parent.depth + 1,
      is_leaf: (node.children ?? []).length === 0,
      ancestry,
      node,
    }
    planned.push(task)
    for (const child of node.children ?? []) visit(child, task)
  }
  visit(tree, undefined)
  return planned
}

const ancestorOf = ({ task_id, node }: PlannedTask): Task['ancestry'][number] => ({
  id: task_id,
  title: node.title,
  ...(node.acceptance_criteria === undefined
    ? {}
    : { acceptance_criteria: node.acceptance_criteria }),
})
