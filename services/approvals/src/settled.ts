import {
  type Approval,
  type ApprovalDecided,
  type ApprovalRow,
  approvalDecided,
} from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import { announceEvent } from './announce.ts'
import { audit, type Call } from './call.ts'
import { showDecisionIn } from './reactions.ts'
import type { StoredApproval } from './store/approvals.ts'
import { tellAgentIn } from './tell.ts'

/** What follows when an approval is pending no longer, whoever ended it. */

export const shownApproval = ({
  user_id: _,
  resource_name: __,
  round: ___,
  ...approval
}: StoredApproval): Approval => approval

export const rowOf = (stored: StoredApproval): ApprovalRow => {
  const {
    payload: _,
    approved_payload: __,
    approved_digest: ___,
    ...approval
  } = shownApproval(stored)
  const { effect: ____, ...row } = approval
  return row
}

/** As which reaction of the owner; what nobody decided shows none. */
const shownAs: Partial<Record<ApprovalDecided['decision'], 'approve' | 'reject'>> = {
  approved: 'approve',
  rejected: 'reject',
}

export const announceSettled = async (
  trx: Trx,
  call: Call,
  approval: StoredApproval,
  decision: ApprovalDecided['decision'],
): Promise<void> => {
  const { approval_id, round, kind, payload, approved_payload, digest, approved_digest } = approval
  await announceEvent(trx, approvalDecided, `approval:${approval_id}`, {
    v: 1,
    user_id: approval.user_id,
    approval_id,
    round,
    kind,
    decision,
    agent_id: approval.requested_by_agent_id,
    goal_id: approval.goal_id,
    task_id: approval.task_id,
    resource_name: approval.resource_name,
    payload: approved_payload ?? payload,
    reason: approval.reason,
    decided_by_user_id: approval.decided_by_user_id,
    at: call.now.getTime(),
  })
  await audit(trx, call, `approval.${decision}`, `approval:${approval_id}`, {
    kind,
    round,
    digest,
    approved_digest,
    reason: approval.reason,
  })
  const shown = shownAs[decision]
  if (shown === undefined) return
  const { user_id, message_id } = approval
  await showDecisionIn(trx, { user_id, message_id, decision: shown }, call.now)
}

/** A message to the agent that asked; the owner, asking of themselves, knows. */
export const tellAskerIn = async (
  trx: Trx,
  call: Pick<Call, 'now'>,
  { user_id, requested_by_agent_id, approval_id, status, title }: StoredApproval,
  text: string,
): Promise<void> => {
  if (requested_by_agent_id === null) return
  await tellAgentIn(trx, { user_id, now: call.now }, requested_by_agent_id, {
    body: `${title}\n${text}`,
    metadata: { status },
    approval_id,
  })
}
