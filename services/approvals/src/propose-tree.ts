import {
  checkTreeBudgets,
  type GoalRecord,
  type InputOf,
  namedError,
  type Principal,
  parseTree,
  type proposeTaskTree,
  ServiceError,
  type TaskNode,
} from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import { askIn, lockAsker } from './ask.ts'
import { type Call, claimCall } from './call.ts'
import { checkMayPropose } from './goal-checks.ts'
import { activeAgentIds } from './store/agents.ts'
import { findApproval, reserveApprovalId, type StoredApproval } from './store/approvals.ts'
import { findSettings } from './store/user-settings.ts'
import { nodesOf, outlineOf, peersOf, treeWarnings } from './tree-rules.ts'

/** Only the goal's coordinator plans it, or the owner. */
const checkCoordinates = (principal: Principal, goal: GoalRecord): void => {
  if (principal.kind === 'human' || principal.agent_id === goal.coordinator_agent_id) return
  throw namedError('ErrNotPermitted', 'only the coordinator of a goal proposes its tasks', {
    details: { coordinator_agent_id: goal.coordinator_agent_id },
  })
}

/** Verdicts come from agents of the same owner; of anybody else's, this owner knows nothing. */
export const checkPeers = async (trx: Trx, user_id: number, tree: TaskNode): Promise<void> => {
  const agent_ids = peersOf(tree)
  if (agent_ids.length === 0) return
  const known = new Set(await activeAgentIds(trx, { user_id, agent_ids }))
  const unknown = agent_ids.filter((agent_id) => !known.has(agent_id))
  if (unknown.length === 0) return
  throw new ServiceError(
    'invalid_argument',
    `verifier_config.agent_id: there is no active agent ${unknown.join(', ')}`,
    { details: { unknown } },
  )
}

const proposalPending = (): ServiceError =>
  namedError('ErrProposalPending', 'this goal has a proposal that is not decided yet')

export const proposeTreeIn = async (
  trx: Trx,
  call: Call,
  principal: Principal,
  goal: GoalRecord,
  { tree: sent, reasoning }: InputOf<typeof proposeTaskTree>,
): Promise<StoredApproval> => {
  const { user_id } = call
  const { repeat, object_id } = await claimCall(trx, call, String(await reserveApprovalId(trx)))
  const approval_id = Number(object_id)
  if (repeat) {
    const earlier = await findApproval(trx, { user_id, approval_id })
    if (earlier === undefined) throw proposalPending()
    return earlier
  }
  checkCoordinates(principal, goal)
  checkMayPropose(goal)
  const tree = parseTree(sent)
  checkTreeBudgets(tree, {
    tokens: goal.remaining_tokens,
    dollars_cents: goal.remaining_dollars_cents,
  })
  await checkPeers(trx, user_id, tree)
  const asker = await lockAsker(trx, principal)
  const { command_verifiers_enabled } = await findSettings(trx, user_id)
  const count = nodesOf(tree).length
  const title = `Plan for "${goal.title}": ${count} ${count === 1 ? 'task' : 'tasks'}`
  const approval = await askIn(trx, call, asker, approval_id, {
    kind: 'task_tree',
    channel: 'approvals',
    message_kind: 'task_proposal',
    title,
    body: [title, ...(reasoning === undefined ? [] : [reasoning]), outlineOf(tree)].join('\n\n'),
    payload: { tree, ...(reasoning === undefined ? {} : { reasoning }) },
    warnings: treeWarnings(tree, command_verifiers_enabled),
    goal_id: goal.goal_id,
  })
  if (approval === undefined) throw proposalPending()
  return approval
}
