import {
  type ApprovalDecided,
  checkTreeBudgets,
  namedError,
  parseTree,
  ServiceError,
  type TaskNode,
  type TreeSettled,
  treeSettled,
} from '@guildhall/contracts'
import { addToOutbox, firstTime, type Trx, transaction } from '@guildhall/db'
import type { Agents } from './agents.ts'
import { createClaimRecordsIn } from './claim-records.ts'
import type { Tasks } from './context.ts'
import { announceGoalChangeIn, tellGoalIn } from './goal-news.ts'
import { announceGoalIn, announceTasksIn, goalRecord } from './goal-projection.ts'
import { addGoalEventIn } from './store/goal-events.ts'
import { changeGoalIn, type GoalRow, type Held, lockGoalIn } from './store/goals.ts'
import { toJson } from './store/json.ts'
import { insertTreeIn, reserveTaskIdsIn } from './store/new-tasks.ts'
import { countNodes, type PlannedTask, peersOf, planTree, verifierOf } from './tree-plan.ts'

/**
 * Carrying out an approved tree. Everything is judged again, because days may lie between proposal
 * and approval, and in one transaction under the goal's lock, because the goal may change this very
 * moment. Either all of the tree comes to be or, with the reason told, nothing of it.
 */

interface ApprovedTree extends ApprovalDecided {
  readonly goal_id: number
}

/** Names the inbox row: a redelivery, and the same event published twice, take effect once. */
const CONSUMER = 'materialise'

const isOwnersError = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && !error.retryable && error.code !== 'internal'

/** Read before the transaction: what the bus answers must not keep a lock waiting. */
const checkPeers = async (agents: Agents, user_id: number, tree: TaskNode): Promise<void> => {
  for (const agent_id of peersOf(tree)) {
    if ((await agents.findActive(user_id, agent_id)) !== undefined) continue
    throw namedError(
      'ErrNotPermittedVerifier',
      `agent ${agent_id} is to verify a task, but is none of the owner's active agents`,
      { what_to_do: 'Name another verifier in the tree.' },
    )
  }
}

const checkGoal = (goal: (GoalRow & Held) | undefined): GoalRow & Held => {
  if (goal === undefined) throw namedError('ErrGoalNotFound', 'no such goal')
  if (goal.status === 'draft' || goal.status === 'active') return goal
  throw namedError(
    'ErrGoalNotActive',
    `the goal is ${goal.status}${goal.pause_reason === null ? '' : `: ${goal.pause_reason}`}`,
  )
}

const settledIn = async (
  trx: Trx,
  { user_id, approval_id, round, goal_id }: ApprovedTree,
  outcome: Pick<TreeSettled, 'outcome' | 'task_ids' | 'error' | 'message'>,
  now: Date,
): Promise<void> => {
  await addToOutbox(trx, {
    subject: treeSettled.subject,
    key: `${user_id}.tree.${approval_id}`,
    event_id: `tree-settled-${user_id}-${approval_id}-${round}`,
    payload: treeSettled.schema.parse({
      v: 1,
      user_id,
      approval_id,
      round,
      goal_id,
      ...outcome,
      at: now.getTime(),
    }),
  })
}

const claimRecordsIn = async (
  trx: Trx,
  goal: GoalRow,
  tasks: readonly PlannedTask[],
  now: Date,
): Promise<void> => {
  const leaves = tasks.filter(({ is_leaf }) => is_leaf)
  await createClaimRecordsIn(
    trx,
    leaves.map(({ task_id, node }, i) => ({
      owner_id: goal.owner_user_id,
      task_id,
      goal_id: goal.goal_id,
      slug: goal.slug,
      title: node.title,
      verifier: verifierOf(node),
      approved_at: now.getTime(),
      // The last, so that whoever comes running finds the others too.
      ring: i === leaves.length - 1,
    })),
  )
}

const materialiseIn = async (
  trx: Trx,
  event: ApprovedTree,
  tree: TaskNode,
  goal: GoalRow & Held,
  now: Date,
): Promise<void> => {
  const { goal_id, owner_user_id } = goal
  const { remaining_tokens, remaining_dollars_cents } = goalRecord(goal)
  checkTreeBudgets(tree, { tokens: remaining_tokens, dollars_cents: remaining_dollars_cents })
  const tasks = planTree(tree, await reserveTaskIdsIn(trx, countNodes(tree)))
  const task_ids = tasks.map(({ task_id }) => task_id)
  await insertTreeIn(trx, { goal_id, owner_user_id, approval_id: event.approval_id, tasks, now })
  await changeGoalIn(trx, goal_id, ['draft', 'active'], { status: 'active' }, now)
  const changed = await announceGoalIn(trx, goal_id)
  await announceTasksIn(trx, task_ids)
  await claimRecordsIn(trx, goal, tasks, now)
  if (goal.status === 'draft') await announceGoalChangeIn(trx, changed, 'activated', now)
  await tellGoalIn(
    trx,
    goal,
    {
      kind: 'tree_materialised',
      body: `${tasks.length} tasks were approved, ${tasks.filter((task) => task.is_leaf).length} of them can be worked on.`,
      metadata: { approval_id: event.approval_id, root_task_id: task_ids[0] },
    },
    now,
  )
  await settledIn(
    trx,
    event,
    { outcome: 'materialised', task_ids, error: null, message: null },
    now,
  )
}

const refuseIn = async (
  trx: Trx,
  event: ApprovedTree,
  goal: GoalRow | undefined,
  error: ServiceError,
  now: Date,
): Promise<void> => {
  const name = String(error.details?.error ?? error.code)
  const { message } = error
  if (goal !== undefined) {
    const body = `An approved tree was not carried out: ${message}`
    await addGoalEventIn(trx, {
      goal_id: goal.goal_id,
      sender: 'system',
      kind: 'tree_refused',
      body,
      now,
    })
  }
  await settledIn(trx, event, { outcome: 'refused', task_ids: [], error: name, message }, now)
}

/** The tree, or why it cannot be carried out whatever the goal is. */
const judge = async (
  agents: Agents,
  event: ApprovedTree,
): Promise<{ tree: TaskNode } | { error: ServiceError }> => {
  try {
    const tree = parseTree(JSON.parse(toJson(event.payload.tree ?? null)))
    await checkPeers(agents, event.user_id, tree)
    return { tree }
  } catch (error) {
    if (isOwnersError(error)) return { error }
    throw error
  }
}

/** False: this decision was carried out before. */
export const materialise = async (tasks: Tasks, event: ApprovedTree): Promise<boolean> => {
  const { user_id, goal_id, approval_id, round } = event
  const now = new Date(tasks.clock.now())
  const judged = await judge(tasks.agents, event)
  return await transaction(tasks.db, async (trx) => {
    if (!(await firstTime(trx, CONSUMER, `${approval_id}.${round}`))) return false
    const goal = await lockGoalIn(trx, { owner_user_id: user_id, goal_id })
    try {
      if ('error' in judged) throw judged.error
      // A refusal is found before the first row is written, or rolls back to here.
      await trx.transaction((inner) =>
        materialiseIn(inner, event, judged.tree, checkGoal(goal), now),
      )
    } catch (error) {
      if (!isOwnersError(error)) throw error
      await refuseIn(trx, event, goal, error, now)
    }
    return true
  })
}
