import type { CallContext } from '@guildhall/bus'
import {
  holderName,
  mayUseQueue,
  namedError,
  ServiceError,
  type WorkRecord,
} from '@guildhall/contracts'
import { matchesHash } from './lease-token.ts'
import { isTask } from './task-item.ts'

/** Who may act on an item that is claimed. */

const notFound = () => new ServiceError('not_found', 'no such todo')

const notHeld = (
  record: WorkRecord,
  message = `${isTask(record) ? 'task' : 'todo'} not in the expected state or lease not held`,
): ServiceError =>
  isTask(record) ? namedError('ErrClaimExpired', message) : new ServiceError('conflict', message)

/**
 * Unknown, foreign, and in a queue that is not granted all look the same. A task lies in no queue:
 * every agent of its owner may see it.
 */
export const requireVisible = (
  ctx: Pick<CallContext, 'principal'>,
  record: WorkRecord | undefined,
): WorkRecord => {
  if (record === undefined) throw notFound()
  if (!isTask(record) && !mayUseQueue(ctx.principal, record.queue)) throw notFound()
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
  if (record.state !== 'claimed') throw notHeld(record)
  if (lease_token !== undefined && !matchesHash(lease_token, record.lease_token_hash)) {
    throw notHeld(record, 'the lease_token is not the one of the current claim')
  }
  if (ctx.principal.kind === 'human') return
  if (record.holder !== holderName(ctx.principal)) throw notHeld(record)
  if ((record.lease_until ?? 0) <= now) throw notHeld(record, 'the lease has ended')
  if (record.require_fence === true && lease_token === undefined) {
    throw notHeld(record, 'this claim needs its lease_token')
  }
}
