import { checkTreeBudgets, namedError, parseTree, type TreeEdit } from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import type { Payload } from './ask.ts'
import type { Deps } from './deps.ts'
import { checkMayStart, existingGoal } from './goal-checks.ts'
import { checkPeers } from './propose-tree.ts'
import { checkStorable } from './storable-json.ts'
import type { StoredApproval } from './store/approvals.ts'
import { findSettings } from './store/user-settings.ts'
import { commandsOf, editTree } from './tree-rules.ts'

/** What the owner approves: the tree as proposed, or as they edited it. Bad edits throw. */
export const editedPayload = ({ payload }: StoredApproval, edits: readonly TreeEdit[]): Payload => {
  if (edits.length === 0) return payload
  checkStorable(edits, 'edits')
  const tree = parseTree(editTree(parseTree(payload.tree), edits))
  return { ...payload, tree }
}

/** Everything that may have changed since it was proposed, and what the edits changed. */
export const recheckTree = async (
  trx: Trx,
  { records }: Deps,
  { user_id, goal_id }: StoredApproval,
  payload: Payload,
): Promise<void> => {
  const goal = await existingGoal(records, user_id, goal_id ?? 0)
  checkMayStart(goal)
  const tree = parseTree(payload.tree)
  checkTreeBudgets(tree, {
    tokens: goal.remaining_tokens,
    dollars_cents: goal.remaining_dollars_cents,
  })
  await checkPeers(trx, user_id, tree)
  const commands = commandsOf(tree)
  if (commands.length === 0) return
  const { command_verifiers_enabled } = await findSettings(trx, user_id)
  if (!command_verifiers_enabled) {
    throw namedError(
      'ErrCommandVerifierDisabled',
      `the tree runs ${commands.length} commands on the verifier, which your settings disable`,
    )
  }
}
