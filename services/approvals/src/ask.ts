import {
  APPROVAL_EXPIRES_AFTER_SECONDS,
  APPROVALS_PENDING_PER_AGENT_MAX,
  type ApprovalKind,
  approvalRequested,
  MESSAGE_MAX_CHARS,
  type MessageKind,
  type Principal,
  ServiceError,
  sha256Hex,
} from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import { lockActiveAgent } from './agents.ts'
import { announceEvent } from './announce.ts'
import { audit, type Call, canonical } from './call.ts'
import { postMessageIn, systemChannelIn } from './messages.ts'
import { checkStorable } from './storable-json.ts'
import type { StoredAgent } from './store/agents.ts'
import { countPendingOf, insertApproval, type StoredApproval } from './store/approvals.ts'

/** How anything comes before a human: one record, one message, one digest of what is shown. */

export type Payload = Readonly<Record<string, unknown>>

/** Of exactly this: the same fields in another order are the same. */
export const digestOf = (payload: Payload): string => sha256Hex(canonical(payload))

/**
 * The agent that asks, under its lock: so what it has pending is counted right. Undefined for the
 * owner, who may ask of themselves.
 */
export const lockAsker = async (
  trx: Trx,
  principal: Principal,
): Promise<StoredAgent | undefined> => {
  if (principal.kind === 'human') return undefined
  const { user_id, agent_id } = principal
  const agent = await lockActiveAgent(trx, { user_id, agent_id })
  if ((await countPendingOf(trx, { user_id, agent_id })) < APPROVALS_PENDING_PER_AGENT_MAX) {
    return agent
  }
  throw new ServiceError(
    'ceiling_exceeded',
    `you have ${APPROVALS_PENDING_PER_AGENT_MAX} approvals pending, which is the most there may be`,
    { what_to_do: 'Wait for decisions, or withdraw what you do not need with cancel_approval.' },
  )
}

interface Question {
  readonly kind: ApprovalKind
  readonly channel: 'approvals' | 'requests'
  readonly message_kind: MessageKind
  readonly title: string
  readonly body: string
  readonly payload: Payload
  readonly warnings: readonly string[]
  readonly goal_id?: number
  readonly task_id?: number
  readonly resource_name?: string
}

const WARNINGS_SHOWN = 10

/** Warnings first, whatever the agent wrote. The approval has all of them, and all that is asked. */
const warned = ({ body, warnings }: Question): string => {
  const more = warnings.length - WARNINGS_SHOWN
  const lines = [
    ...warnings.slice(0, WARNINGS_SHOWN).map((warning) => `WARNING: ${warning.slice(0, 500)}`),
    ...(more > 0 ? [`WARNING: and ${more} more, in the approval`] : []),
    body,
  ]
  return lines.join('\n').slice(0, MESSAGE_MAX_CHARS)
}

/** Undefined when one like it is open: the caller throws, so that the message goes as well. */
export const askIn = async (
  trx: Trx,
  call: Call,
  asker: StoredAgent | undefined,
  approval_id: number,
  question: Question,
): Promise<StoredApproval | undefined> => {
  const { user_id, actor, now } = call
  const { kind, channel, message_kind, title, payload, warnings } = question
  const { goal_id = null, task_id = null, resource_name = null } = question
  checkStorable(payload, kind)
  const digest = digestOf(payload)
  const { message_id, channel_id } = await postMessageIn(trx, {
    user_id,
    channel_id: await systemChannelIn(trx, user_id, channel, now),
    from: actor,
    agent_id: asker?.agent_id ?? null,
    kind: message_kind,
    body: warned(question),
    metadata: { approval_id, kind, digest, goal_id, task_id },
    approval_id,
    at: now,
  })
  const approval = await insertApproval(trx, {
    approval_id,
    user_id,
    kind,
    title,
    requested_by_agent_id: asker?.agent_id ?? null,
    requested_by: actor,
    goal_id,
    task_id,
    resource_name,
    channel_id,
    message_id,
    payload,
    digest,
    warnings,
    created_at: now,
    expires_at: new Date(now.getTime() + APPROVAL_EXPIRES_AFTER_SECONDS * 1_000),
  })
  if (approval === undefined) return undefined
  await announceEvent(trx, approvalRequested, `approval:${approval_id}`, {
    v: 1,
    user_id,
    approval_id,
    kind,
    agent_id: approval.requested_by_agent_id,
    goal_id,
    task_id,
    resource_name,
    at: now.getTime(),
  })
  await audit(trx, call, 'approval.requested', `approval:${approval_id}`, { kind, digest, title })
  return approval
}
