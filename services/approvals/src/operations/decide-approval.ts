import type { Handler } from '@guildhall/bus'
import { decideApproval, namedError } from '@guildhall/contracts'
import { type Trx, transaction } from '@guildhall/db'
import { noSuchApproval } from '../approval-errors.ts'
import { type Call, callOf, claimCall } from '../call.ts'
import { type Decided, type DecisionInput, decideIn } from '../decide.ts'
import type { Deps } from '../deps.ts'
import { rowOf } from '../settled.ts'
import { findApproval } from '../store/approvals.ts'

/**
 * A repeat answers as it stands. What the first call could not carry out is tried again, as long as
 * nothing was decided since: its answer may be the one that was lost.
 */
const decideOnce = async (
  trx: Trx,
  deps: Deps,
  call: Call,
  input: DecisionInput,
): Promise<Decided> => {
  const { repeat } = await claimCall(trx, call, String(input.approval_id))
  if (!repeat) return await decideIn(trx, deps, call, input)
  const { approval_id } = input
  const approval = await findApproval(trx, { user_id: call.user_id, approval_id })
  if (approval === undefined) throw noSuchApproval()
  if (approval.status === 'pending' && approval.round === 0) {
    return await decideIn(trx, deps, call, input)
  }
  return { approval: rowOf(approval) }
}

/** The grant keeps agents out already; this is the rule itself, whatever an endpoint is granted. */
export const handleDecideApproval =
  (deps: Deps): Handler<typeof decideApproval> =>
  async (ctx, input) => {
    if (ctx.principal.kind !== 'human') {
      throw namedError('ErrNotPermitted', 'only the owner decides')
    }
    const call = callOf(deps, ctx, decideApproval, input)
    const { approval, refused } = await transaction(deps.db, (trx) =>
      decideOnce(trx, deps, call, input),
    )
    await deps.settle()
    if (refused !== undefined) throw refused
    return approval
  }
