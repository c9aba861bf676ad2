import { randomBytes } from 'node:crypto'
import { headerJson, lastOfSubject, publish } from '@guildhall/bus'
import {
  DeliveryMeta,
  headers as headerNames,
  ServiceError,
  streams,
  subjects,
} from '@guildhall/contracts'
import type { Deps } from './deps.ts'

/**
 * The one write of an accepted delivery. The subject ends in the todo's id and the stream takes one
 * message per subject, so the stream is also the 30-day memory of what was accepted: a repeat is
 * refused by it, on whatever replica it arrives, and nothing is looked up beforehand.
 */

/** A larger body goes to the object store: every reader of the stream holds some messages in memory. */
const INLINE_BODY_MAX_BYTES = 1_048_576
/** For the protocol's own headers, beside ours. */
const MESSAGE_HEADROOM_BYTES = 4_096

const isInline = (max_payload: number, body: Uint8Array, header: string): boolean =>
  body.length <= INLINE_BODY_MAX_BYTES &&
  body.length + header.length + MESSAGE_HEADROOM_BYTES <= max_payload

type SendDeps = Pick<Deps, 'bus' | 'bodies' | 'log'>

const sendLarge = async (
  deps: SendDeps,
  subject: string,
  meta: DeliveryMeta,
  body: Uint8Array,
): Promise<boolean> => {
  const { bus, bodies, log } = deps
  // Only saves writing megabytes for a repeat; the publish below decides.
  if ((await lastOfSubject(bus, streams.deliveries, subject)) !== undefined) return false
  // A name of its own: two bodies may claim the same delivery, and the first must stay as it was.
  const body_ref = `${meta.todo_id}-${randomBytes(8).toString('hex')}`
  await bodies.put(body_ref, body)
  const header = headerJson({ ...meta, body_ref })
  const { duplicate } = await publish(bus, subject, new Uint8Array(), {
    headers: { [headerNames.delivery]: header },
    expect_new_subject: true,
  })
  if (duplicate) {
    await bodies.delete(body_ref).catch((err: unknown) => log.warn({ err }, 'orphan body is left'))
  }
  return !duplicate
}

/** Returns whether this was the first. Throws `unavailable` when it is not stored. */
export const sendDelivery = async (
  deps: SendDeps,
  meta: DeliveryMeta,
  body: Uint8Array,
): Promise<boolean> => {
  const { bus } = deps
  // Answered at once rather than after the time-out of a publish that cannot succeed.
  if (!bus.connected()) throw new ServiceError('unavailable', 'deliveries cannot be stored now')
  const checked = DeliveryMeta.parse(meta)
  const subject = subjects.delivery(meta.owner_id, meta.source_type, meta.todo_id)
  const header = headerJson(checked)
  if (!isInline(bus.max_payload, body, header)) {
    return await sendLarge(deps, subject, checked, body)
  }
  const { duplicate } = await publish(bus, subject, body, {
    headers: { [headerNames.delivery]: header },
    expect_new_subject: true,
  })
  return !duplicate
}
