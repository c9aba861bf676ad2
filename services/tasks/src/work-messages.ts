import { ackWork, delayWork, headerJson, lastOfSubject, publish, returnWork } from '@guildhall/bus'
import {
  headers,
  type Lane,
  ServiceError,
  streams,
  subjects,
  type WorkMessageMeta,
  type WorkRecord,
} from '@guildhall/contracts'
import type { Tasks } from './context.ts'
import { isTask } from './task-item.ts'

/**
 * An item's message in WORK follows its record: always second, always repeatable. A task has none:
 * it is claimed by its id, and its lease is watched by the sweep alone. So it has no ack subject
 * either, and what moves a message leaves it alone.
 */

const laneOf = (record: WorkRecord): Lane => ({
  owner_id: record.owner_id,
  queue: record.queue,
  priority: record.priority,
})

const workSubject = (record: WorkRecord): string => subjects.work(laneOf(record), record.id)

const metaOf = (record: WorkRecord): WorkMessageMeta => ({
  v: 1,
  id: record.id,
  content_type: record.content_type,
  ...(record.body_ref === undefined ? {} : { body_ref: record.body_ref }),
})

/** Puts the item into its lane, unless its message is there already. */
export const enqueue = async (
  { bus, lanes }: Pick<Tasks, 'bus' | 'lanes'>,
  record: WorkRecord,
  data: Uint8Array,
): Promise<void> => {
  if (isTask(record)) return
  await lanes.ensure(laneOf(record))
  await publish(bus, workSubject(record), data, {
    headers: { [headers.work]: headerJson(metaOf(record)) },
    expect_new_subject: true,
  })
}

/** The payload's bytes, from the message or from the object store. */
export const readBody = async (
  { bus, bodies }: Pick<Tasks, 'bus' | 'bodies'>,
  record: WorkRecord,
): Promise<Uint8Array | undefined> => {
  if (record.body_ref !== undefined) return await bodies.get(record.body_ref)
  const stored =
    (await lastOfSubject(bus, streams.work, workSubject(record))) ??
    (await lastOfSubject(bus, streams.dead, deadSubject(record)))
  return stored?.data
}

/** Whether the item's message is where claim_next would find it. */
export const isEnqueued = async (
  { bus }: Pick<Tasks, 'bus'>,
  record: WorkRecord,
): Promise<boolean> => (await lastOfSubject(bus, streams.work, workSubject(record))) !== undefined

/** The accepted delivery that an item was made from. */
export const readDelivery = async (
  { bus }: Pick<Tasks, 'bus'>,
  record: WorkRecord,
): Promise<Uint8Array | undefined> => {
  if (record.webhook_id === undefined || record.source === undefined) return undefined
  const subject = subjects.delivery(record.owner_id, record.source, record.id)
  return (await lastOfSubject(bus, streams.deliveries, subject))?.data
}

const deadSubject = (record: WorkRecord): string =>
  subjects.dead(record.owner_id, record.queue, record.id)

/**
 * A dead letter keeps its payload in the dead-letter stream, because its message leaves WORK. The
 * copy is made before the record says so; made twice it replaces itself.
 */
export const buryPayload = async (
  tasks: Pick<Tasks, 'bus' | 'bodies'>,
  record: WorkRecord,
  reason: string,
): Promise<void> => {
  if (isTask(record)) return
  const stored = await lastOfSubject(tasks.bus, streams.work, workSubject(record))
  if (stored === undefined) return
  await publish(tasks.bus, deadSubject(record), stored.data, {
    headers: {
      [headers.work]: headerJson(metaOf(record)),
      [headers.reason]: headerJson(reason.slice(0, 500)),
    },
  })
}

/** Puts a dead letter's message back. A leftover of its former life goes first. */
export const exhume = async (
  tasks: Pick<Tasks, 'bus' | 'lanes' | 'bodies'>,
  record: WorkRecord,
): Promise<void> => {
  const body = record.body_ref === undefined ? await readBody(tasks, record) : new Uint8Array()
  if (body === undefined) {
    throw new ServiceError('conflict', 'the payload of this todo is no longer kept', {
      what_to_do: 'Replay the webhook event, or create the todo again.',
    })
  }
  const leftover = await lastOfSubject(tasks.bus, streams.work, workSubject(record))
  if (leftover !== undefined) {
    // Kept meanwhile, so that dying between the two steps leaves it for the repeat.
    await buryPayload(tasks, record, 'retried by hand')
    // An acknowledgement of the old message may still be on its way and must not hit the new one.
    await tasks.bus.jsm.streams.deleteMessage(streams.work, leftover.sequence).catch(() => false)
  }
  await enqueue(tasks, record, body)
}

/** Moves the message's lease to the record's; without an ack subject it has not come up yet. */
export const holdMessage = (bus: Tasks['bus'], record: WorkRecord, now: number): void => {
  if (record.ack_subject === undefined || record.lease_until === undefined) return
  delayWork(bus, record.ack_subject, record.lease_until - now)
}

export const delayMessage = (
  bus: Tasks['bus'],
  ack_subject: string | undefined,
  delay_ms: number,
): void => {
  if (ack_subject !== undefined) delayWork(bus, ack_subject, delay_ms)
}

export const returnMessage = (bus: Tasks['bus'], ack_subject: string | undefined): void => {
  if (ack_subject !== undefined) returnWork(bus, ack_subject)
}

/** Takes the message of a finished item out of the stream. */
export const finishMessage = (bus: Tasks['bus'], ack_subject: string | undefined): void => {
  if (ack_subject !== undefined) ackWork(bus, ack_subject)
}
