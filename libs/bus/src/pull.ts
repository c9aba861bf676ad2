import { Buffer } from 'node:buffer'
import { headers as headerNames, streams, WorkMessageMeta } from '@guildhall/contracts'
import { AckPolicy, nanos } from 'nats'
import type { Bus } from './connect.ts'
import { busUnavailable, isConsumerNotFound, isNoResponders, isTimeout } from './errors.ts'
import { laneConsumerConfig } from './topology.ts'

/**
 * The work stream, message by message. A lease lives on the message itself, so acknowledging and
 * delaying go to its ack subject, from any process and any connection that knows it.
 */
export interface PulledWork {
  readonly ack_subject: string
  readonly data: Uint8Array
  readonly meta: WorkMessageMeta
  readonly owner_id: number
}

const PULL_TIMEOUT_MS = 4_000

/** One message now, or undefined. Also undefined when the consumer does not exist yet. */
export const pullWork = async (bus: Bus, consumer: string): Promise<PulledWork | undefined> => {
  let message: Awaited<ReturnType<typeof bus.nc.request>>
  try {
    message = await bus.nc.request(
      `$JS.API.CONSUMER.MSG.NEXT.${streams.work}.${consumer}`,
      NO_WAIT,
      { timeout: PULL_TIMEOUT_MS },
    )
  } catch (error) {
    // A consumer without a subscriber for this subject does not exist: the lane is empty.
    if (isNoResponders(error)) return undefined
    throw busUnavailable(error)
  }
  if (message.headers !== undefined && message.headers.code > 0) return undefined
  const reply = message.reply
  if (reply === undefined || reply === '') return undefined
  return {
    ack_subject: reply,
    data: message.data,
    meta: WorkMessageMeta.parse(JSON.parse(message.headers?.get(headerNames.work) ?? '{}')),
    owner_id: Number(message.subject.split('.')[1]),
  }
}

const NO_WAIT = Buffer.from(JSON.stringify({ batch: 1, no_wait: true }))

/** The lease: JetStream hands the message out again after `delay_ms`, whoever is alive then. */
export const delayWork = (bus: Bus, ack_subject: string, delay_ms: number): void => {
  bus.nc.publish(ack_subject, `-NAK ${JSON.stringify({ delay: nanos(Math.max(delay_ms, 1)) })}`)
}

/** Gives it back at once, for messages that were only looked at. */
export const returnWork = (bus: Bus, ack_subject: string): void => {
  bus.nc.publish(ack_subject, '-NAK')
}

/** Removes the message. Only after the claim record says that the item is finished. */
export const ackWork = async (bus: Bus, ack_subject: string): Promise<void> => {
  try {
    await bus.nc.request(ack_subject, '+ACK', { timeout: PULL_TIMEOUT_MS })
  } catch (error) {
    // Unconfirmed: the message may come once more, is found finished, and is acknowledged then.
    if (!isTimeout(error) && !isNoResponders(error)) throw busUnavailable(error)
  }
}

export const ensureLaneConsumer = async (bus: Bus, name: string, filter: string): Promise<void> => {
  try {
    await bus.jsm.consumers.info(streams.work, name)
    return
  } catch (error) {
    if (!isConsumerNotFound(error)) throw busUnavailable(error)
  }
  try {
    await bus.jsm.consumers.add(streams.work, {
      ...laneConsumerConfig(name, filter),
      ack_policy: AckPolicy.Explicit,
    })
  } catch (error) {
    throw busUnavailable(error)
  }
}
