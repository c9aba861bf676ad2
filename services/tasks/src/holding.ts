import type { CallContext } from '@guildhall/bus'
import { holderName, mayUseQueue, ServiceError, type WorkRecord } from '@guildhall/contracts'
import { matchesHash } from './lease-token.ts'

/** Who may act on an item that is claimed. */

const notFound = () => new ServiceError('not_found', 'no such todo')

const notHeld = (message = 'todo not in the expected state or lease not held') =>
  new ServiceError('conflict', message)

/** Unknown, foreign, and in a queue that is not granted all look the same. */
export const requireVisible = (
  ctx: Pick<CallContext, 'principal'>,
  record: WorkRecord | undefined,
): WorkRecord => {
  if (record === undefined || !mayUseQueue(ctx.principal, record.queue)) throw notFound()
  return record
}

/**
 * Throws `conflict` unless the caller holds the item now. The owner of the queue may act on any
 * claim in it; an agent must hold the lease, not yet ended, with the token where one is given or
 * required.
 */
export const requireHolder = (
  ctx: Pick<CallContext, 'principal'>,
  record: WorkRecord,
  lease_token: string | undefined,
  now: number,
): void => {
  if (record.state !== 'claimed') throw notHeld()
  if (lease_token !== undefined && !matchesHash(lease_token, record.lease_token_hash)) {
    throw notHeld('the lease_token is not the one of the current claim')
  }
  if (ctx.principal.kind === 'human') return
  if (record.holder !== holderName(ctx.principal)) throw notHeld()
  if ((record.lease_until ?? 0) <= now) throw notHeld('the lease has ended')
  if (record.require_fence === true && lease_token === undefined) {
    throw notHeld('this claim needs its lease_token')
  }
}
