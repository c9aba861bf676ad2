import { durables } from '@guildhall/bus'
import { type SecretChanged, secretChanged } from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import type { Part } from '@guildhall/runtime'
import { systemCall } from '../call.ts'
import { FULFIL_PAGE } from '../limits.ts'
import { announceSettled, tellAskerIn } from '../settled.ts'
import { type ApprovalKey, pendingRequestsFor, settlePending } from '../store/approvals.ts'
import { type EventDeps, eachOnce } from './each-once.ts'

const fulfil = async (
  trx: Trx,
  key: ApprovalKey,
  { user_id, scope_type, name, at }: SecretChanged,
): Promise<void> => {
  const now = new Date(at)
  const approval = await settlePending(trx, key, {
    status: 'executed',
    decided_at: now,
    // Only the owner sets secrets.
    decided_by_user_id: user_id,
    effect: { scope: scope_type },
  })
  if (approval === undefined) return
  const call = systemCall(user_id, now)
  await announceSettled(trx, call, approval, 'approved')
  await tellAskerIn(trx, call, approval, `${name} is now available. See list_resources.`)
}

/** A secret that arrives answers every request for it that its scope covers. */
const fulfilRequests = async (trx: Trx, event: SecretChanged): Promise<void> => {
  const { user_id, scope_type, scope_id, name, change } = event
  if (change === 'revoked') return
  if (scope_type === 'user' && scope_id !== user_id) return
  const place = { user_id, resource_name: name.toUpperCase(), scope_type, scope_id }
  for (;;) {
    const page = await pendingRequestsFor(trx, place, FULFIL_PAGE)
    for (const key of page) await fulfil(trx, key, event)
    if (page.length < FULFIL_PAGE) return
  }
}

export const onSecretChanged = (events: EventDeps): Part =>
  eachOnce(events, {
    durable: durables.approvalsSecrets,
    schema: secretChanged.schema,
    apply: fulfilRequests,
  })
