import { durables } from '@guildhall/bus'
import { APPROVAL_EXPIRES_AFTER_SECONDS, type TreeSettled, treeSettled } from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import type { Part } from '@guildhall/runtime'
import { auditOf } from '../call.ts'
import { postMessageIn } from '../messages.ts'
import { withdrawDecisionIn } from '../reactions.ts'
import { tellAskerIn } from '../settled.ts'
import { executeApproved, reopenApproved, type StoredApproval } from '../store/approvals.ts'
import { type EventDeps, eachOnce } from './each-once.ts'

const carriedOut = async (
  trx: Trx,
  { user_id, approval_id, round, task_ids }: TreeSettled,
  now: Date,
): Promise<void> => {
  const effect = { task_ids }
  const approval = await executeApproved(trx, { user_id, approval_id, round, effect })
  if (approval === undefined) return
  await auditOf(trx, user_id, now, 'approval.executed', `approval:${approval_id}`, { task_ids })
  await tellAskerIn(trx, { now }, approval, `Approved: ${task_ids.length} tasks can be worked on.`)
}

const say = async (trx: Trx, approval: StoredApproval, body: string, now: Date): Promise<void> => {
  const { user_id, channel_id, message_id, approval_id, round } = approval
  await postMessageIn(trx, {
    user_id,
    channel_id,
    from: 'system',
    kind: 'system',
    body,
    metadata: { approval_id, round },
    reply_to: message_id,
    at: now,
  })
}

/** The owner sees why under the proposal, and can decide again. */
const refused = async (
  trx: Trx,
  { user_id, approval_id, round, error, message }: TreeSettled,
  now: Date,
): Promise<void> => {
  const failure = [error, message].filter((part) => part !== null).join(': ') || 'refused'
  const expires_at = new Date(now.getTime() + APPROVAL_EXPIRES_AFTER_SECONDS * 1_000)
  const approval = await reopenApproved(trx, { user_id, approval_id, round, failure, expires_at })
  if (approval === undefined) return
  const { message_id } = approval
  await withdrawDecisionIn(trx, { user_id, message_id, decision: 'approve' })
  await auditOf(trx, user_id, now, 'approval.reopened', `approval:${approval_id}`, { failure })
  await say(trx, approval, `Could not be carried out, and is pending again. ${failure}`, now)
}

/** How the execution of an approved tree went, in the service that executes it. */
export const onTreeSettled = (events: EventDeps): Part =>
  eachOnce(events, {
    durable: durables.approvalsTrees,
    schema: treeSettled.schema,
    apply: (trx, event) => {
      const now = new Date(event.at)
      return event.outcome === 'materialised'
        ? carriedOut(trx, event, now)
        : refused(trx, event, now)
    },
  })
