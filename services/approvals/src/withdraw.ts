import type { Trx } from '@guildhall/db'
import { alreadyDecided, noSuchApproval } from './approval-errors.ts'
import type { Call } from './call.ts'
import { announceSettled } from './settled.ts'
import {
  type ApprovalKey,
  lockApproval,
  type StoredApproval,
  settlePending,
  settlePendingOf,
} from './store/approvals.ts'

const withdrawn = (call: Call, reason: string | null) =>
  ({ status: 'cancelled', decided_at: call.now, decided_by_user_id: null, reason }) as const

/** By whoever asked, or the owner. The second time, it is withdrawn already. */
export const withdrawIn = async (
  trx: Trx,
  call: Call,
  key: ApprovalKey,
  agent_id: number | null,
  reason: string | undefined,
): Promise<StoredApproval> => {
  const approval = await lockApproval(trx, key)
  // Of another agent of the same owner, an agent learns no more than of anybody else's.
  if (approval === undefined) throw noSuchApproval()
  if (agent_id !== null && approval.requested_by_agent_id !== agent_id) throw noSuchApproval()
  if (approval.status === 'cancelled') return approval
  const settled = await settlePending(trx, key, withdrawn(call, reason ?? null))
  if (settled === undefined) throw alreadyDecided(approval.status)
  await announceSettled(trx, call, settled, 'cancelled')
  return settled
}

/** Nobody has to decide any more on what a deactivated agent asked for. */
export const withdrawAllOf = async (trx: Trx, call: Call, agent_id: number): Promise<void> => {
  const { user_id } = call
  const settled = await settlePendingOf(
    trx,
    { user_id, agent_id },
    withdrawn(call, 'the agent was deactivated'),
  )
  for (const approval of settled) await announceSettled(trx, call, approval, 'cancelled')
}
