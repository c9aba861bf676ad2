import { Buffer } from 'node:buffer'
import { headers as headerNames, streams, WorkMessageMeta } from '@guildhall/contracts'
import { AckPolicy, createInbox, type Msg, nanos } from 'nats'
import type { Bus } from './connect.ts'
import { busUnavailable, isConsumerNotFound } from './errors.ts'
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

/**
 * A server of 2.9 leaves some of several simultaneous pulls without an answer, so a pull is asked
 * again before the bus is called unavailable. What an abandoned one brings comes back by its ack wait.
 */
const PULL_TIMEOUTS_MS = [1_000, 1_000, 2_000]

/**
 * A pulled message keeps the subject that it has in the stream, so the client's shared reply
 * subscription cannot tell whose it is. Each pull in flight therefore has an inbox of its own; they
 * are kept and used again, because subscribing anew would double the cost of a pull.
 */
interface Slot {
  readonly inbox: string
  readonly close: () => void
  settle: ((message: Msg | Error) => void) | undefined
}

class Unanswered extends Error {}

const freeSlots = new WeakMap<Bus, Slot[]>()

const openSlot = (bus: Bus): Slot => {
  const inbox = createInbox(`_INBOX_${bus.service}`)
  const slot: Slot = {
    inbox,
    close: () => subscription.unsubscribe(),
    settle: undefined,
  }
  const subscription = bus.nc.subscribe(inbox, {
    callback: (error, message) => slot.settle?.(error ?? message),
  })
  return slot
}

/** Puts the question and returns the one answer: a message of the stream, or a status. */
const askOnce = async (
  bus: Bus,
  subject: string,
  question: Uint8Array,
  timeout_ms: number,
): Promise<Msg> => {
  const free = freeSlots.get(bus) ?? []
  freeSlots.set(bus, free)
  const slot = free.pop() ?? openSlot(bus)
  let timer: NodeJS.Timeout | undefined
  try {
    const answer = await new Promise<Msg>((resolve, reject) => {
      slot.settle = (message) => (message instanceof Error ? reject(message) : resolve(message))
      timer = setTimeout(() => reject(new Unanswered('the pull was not answered')), timeout_ms)
      bus.nc.publish(subject, question, { reply: slot.inbox })
    })
    slot.settle = undefined
    free.push(slot)
    return answer
  } catch (error) {
    // Its answer may still come and must not be taken for that of another pull.
    slot.close()
    throw error
  } finally {
    clearTimeout(timer)
  }
}

const ask = async (bus: Bus, subject: string, question: Uint8Array): Promise<Msg> => {
  let last: unknown
  for (const timeout_ms of PULL_TIMEOUTS_MS) {
    try {
      return await askOnce(bus, subject, question, timeout_ms)
    } catch (error) {
      if (!(error instanceof Unanswered)) throw busUnavailable(error)
      last = error
    }
  }
  throw busUnavailable(last)
}

/** One message now, or undefined. Also undefined when the consumer does not exist yet. */
export const pullWork = async (bus: Bus, consumer: string): Promise<PulledWork | undefined> => {
  const message = await ask(bus, `$JS.API.CONSUMER.MSG.NEXT.${streams.work}.${consumer}`, NO_WAIT)
  // A status: no messages, or (503) a consumer that does not exist.
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

/**
 * Removes the message. Only after the claim record says that the item is finished; not confirmed,
 * because a message that comes once more is found finished and acknowledged then.
 */
export const ackWork = (bus: Bus, ack_subject: string): void => {
  bus.nc.publish(ack_subject, '+ACK')
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
