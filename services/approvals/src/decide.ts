import { type ApprovalRow, type Decision, ServiceError, type TreeEdit } from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import type { Call } from './call.ts'
import type { Deps } from './deps.ts'

export interface DecisionInput {
  readonly approval_id: number
  readonly decision: Decision
  readonly digest?: string | undefined
  readonly reason?: string | undefined
  readonly edits?: readonly TreeEdit[] | undefined
}

export interface Decided {
  readonly approval: ApprovalRow
  /**
   * Set when an approval could not be carried out: it is still pending, with the reason in its
   * `failure`. Commit the transaction, so that the reason stays, and then throw this.
   */
  readonly refused?: ServiceError
}

/**
 * The one way in which a human owner's decision is taken, by whichever door it comes: REST, MCP, or
 * a reaction. The caller has checked that the principal is a human. Throws when there is nothing to
 * decide: unknown or foreign (not_found), decided already, expired, another digest, bad edits.
 */
export const decideIn = async (
  _trx: Trx,
  _deps: Deps,
  _call: Call,
  _input: DecisionInput,
): Promise<Decided> => {
  throw new ServiceError('unavailable', 'decisions are not taken yet')
}
