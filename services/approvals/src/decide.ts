import {
  type ApprovalRow,
  type Decision,
  namedError,
  ServiceError,
  type TreeEdit,
} from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import { alreadyDecided, hasExpired, noSuchApproval, otherDigest } from './approval-errors.ts'
import { editedPayload, recheckTree } from './approve-tree.ts'
import { digestOf, type Payload } from './ask.ts'
import type { Call } from './call.ts'
import type { Deps } from './deps.ts'
import { announceSettled, rowOf, tellAskerIn } from './settled.ts'
import { spawnAgentIn } from './spawn-agent.ts'
import { checkStorable } from './storable-json.ts'
import { lockApproval, noteFailure, type StoredApproval, settlePending } from './store/approvals.ts'

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

/** The row under its lock, if this decision can be taken on it. */
const lockPending = async (
  trx: Trx,
  { user_id, now }: Call,
  { approval_id, digest }: DecisionInput,
): Promise<StoredApproval> => {
  const approval = await lockApproval(trx, { user_id, approval_id })
  if (approval === undefined) throw noSuchApproval()
  if (approval.status !== 'pending') throw alreadyDecided(approval.status)
  if (Date.parse(approval.expires_at) <= now.getTime()) throw hasExpired()
  if (digest !== undefined && digest !== approval.digest) throw otherDigest(approval.digest)
  return approval
}

const checkInput = ({ kind }: StoredApproval, { decision, reason, edits }: DecisionInput): void => {
  checkStorable(reason, 'reason')
  if (edits !== undefined && (decision !== 'approve' || kind !== 'task_tree')) {
    throw new ServiceError('invalid_argument', 'edits: only of a task tree that you approve')
  }
  if (decision === 'approve' && kind === 'resource') {
    throw namedError('ErrIllegalTransition', 'a resource is given by setting its secret', {
      what_to_do: 'Set the secret of that name; the request is then fulfilled. Or reject it.',
    })
  }
}

/** Carries out what can be carried out here. Throws before it has written anything. */
const carryOut = async (
  trx: Trx,
  deps: Deps,
  call: Call,
  approval: StoredApproval,
  payload: Payload,
): Promise<Payload | null> => {
  if (approval.kind === 'agent') return await spawnAgentIn(trx, deps, call, approval)
  if (approval.kind === 'task_tree') await recheckTree(trx, deps, approval, payload)
  return null
}

/** What is merely down now is no reason against the approval: the owner tries again. */
const refusalOf = (error: unknown): ServiceError => {
  if (error instanceof ServiceError && !error.retryable && error.code !== 'internal') return error
  throw error
}

const failureText = (refused: ServiceError): string => {
  const name = refused.details?.error
  return typeof name === 'string' ? `${name}: ${refused.message}` : refused.message
}

const approveIn = async (
  trx: Trx,
  deps: Deps,
  call: Call,
  approval: StoredApproval,
  { edits = [], reason }: DecisionInput,
): Promise<Decided> => {
  const payload = approval.kind === 'task_tree' ? editedPayload(approval, edits) : approval.payload
  const outcome = await carryOut(trx, deps, call, approval, payload).then(
    (effect) => ({ effect }),
    (error: unknown) => ({ refused: refusalOf(error) }),
  )
  if ('refused' in outcome) {
    const noted = await noteFailure(trx, approval, failureText(outcome.refused))
    return { approval: rowOf(noted ?? approval), refused: outcome.refused }
  }
  const settled = await settlePending(trx, approval, {
    status: approval.kind === 'agent' ? 'executed' : 'approved',
    decided_at: call.now,
    decided_by_user_id: call.user_id,
    reason: reason ?? null,
    approved_payload: edits.length === 0 ? null : payload,
    approved_digest: digestOf(payload),
    effect: outcome.effect,
  })
  if (settled === undefined) throw alreadyDecided(approval.status)
  await announceSettled(trx, call, settled, 'approved')
  // Of a tree or an agent, whoever asked hears when there is something to go on with.
  if (settled.kind === 'action') await tellAskerIn(trx, call, settled, 'Your owner approved this.')
  return { approval: rowOf(settled) }
}

const declined = {
  reject: { status: 'rejected', text: 'Your owner rejected this.' },
  request_changes: { status: 'changes_requested', text: 'Your owner asks for changes.' },
} as const

const declineIn = async (
  trx: Trx,
  call: Call,
  approval: StoredApproval,
  decision: keyof typeof declined,
  reason: string | undefined,
): Promise<Decided> => {
  const { status, text } = declined[decision]
  const settled = await settlePending(trx, approval, {
    status,
    decided_at: call.now,
    decided_by_user_id: call.user_id,
    reason: reason ?? null,
  })
  if (settled === undefined) throw alreadyDecided(approval.status)
  await announceSettled(trx, call, settled, status)
  await tellAskerIn(trx, call, settled, reason === undefined ? text : `${text} ${reason}`)
  return { approval: rowOf(settled) }
}

/**
 * The one way in which a human owner's decision is taken, by whichever door it comes: REST, MCP, or
 * a reaction. The caller has checked that the principal is a human. Throws when there is nothing to
 * decide: unknown or foreign (not_found), decided already, expired, another digest, bad edits.
 */
export const decideIn = async (
  trx: Trx,
  deps: Deps,
  call: Call,
  input: DecisionInput,
): Promise<Decided> => {
  const approval = await lockPending(trx, call, input)
  checkInput(approval, input)
  return input.decision === 'approve'
    ? await approveIn(trx, deps, call, approval, input)
    : await declineIn(trx, call, approval, input.decision, input.reason)
}
