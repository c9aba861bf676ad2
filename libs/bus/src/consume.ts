import { setTimeout as delay } from 'node:timers/promises'
import {
  errorCodes,
  headers as headerNames,
  type ServiceError,
  streams,
  toServiceError,
} from '@guildhall/contracts'
import type { Logger, Part } from '@guildhall/runtime'
import type { ConsumerMessages, JsMsg } from 'nats'
import type { Bus } from './connect.ts'
import { publish } from './publish.ts'

export interface StreamMessage {
  readonly subject: string
  readonly data: Uint8Array
  readonly headers: Readonly<Record<string, string>>
  readonly stream_sequence: number
  /** 1 for the first delivery. */
  readonly delivery_count: number
  /** When the stream stored it, ms since the epoch. */
  readonly stored_at: number
  /** For long work: tells the server that it is still going on. */
  working(): void
}

interface ConsumeOptions {
  readonly stream: string
  /** Declared in the topology; a service only binds to it. */
  readonly durable: string
  readonly log: Logger
  /** Messages in memory at most; also the largest batch. */
  readonly max_in_flight: number
  /** How many batches are handled at once. 1 keeps the stream's order. */
  readonly concurrency?: number
  /** Messages per call of `handle`. */
  readonly batch?: number
  /**
   * Returns: all are acknowledged. Throws what is not retryable: they go to the dead-letter stream
   * with the reason. Throws anything else: they come again after a growing delay.
   */
  readonly handle: (messages: readonly StreamMessage[]) => Promise<void>
}

const RETRY_FIRST_MS = 250
const RETRY_MAX_MS = 60_000
const REBIND_MS = 500

/** Growing with each delivery, so that a message that keeps failing does not spin. */
const retryDelay = (delivery_count: number): number =>
  Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** Math.min(delivery_count - 1, 16))

const readMessage = (message: JsMsg): StreamMessage => {
  const headers: Record<string, string> = {}
  for (const [name, values] of message.headers ?? []) headers[name] = values[0] ?? ''
  return {
    subject: message.subject,
    data: message.data,
    headers,
    stream_sequence: message.seq,
    delivery_count: message.info.deliveryCount,
    stored_at: Math.floor(message.info.timestampNanos / 1e6),
    working: () => message.working(),
  }
}

/** A problem in the message itself, which no repeat will cure. */
const isFinal = (error: ServiceError): boolean =>
  !errorCodes[error.code].retryable && error.code !== 'internal'

const UNSAFE_TOKEN = /[^A-Za-z0-9_-]/g

const bury = async (bus: Bus, durable: string, message: JsMsg, reason: string): Promise<void> => {
  const source = message.subject.replace(UNSAFE_TOKEN, '_')
  await publish(bus, `dead.0.${durable}.${source}-${message.seq}`, message.data, {
    headers: { ...readMessage(message).headers, [headerNames.reason]: reason.slice(0, 500) },
  })
  message.term(reason.slice(0, 200))
}

const settleFailure = async (
  bus: Bus,
  { durable, log, stream }: ConsumeOptions,
  messages: readonly JsMsg[],
  cause: unknown,
): Promise<void> => {
  const error = toServiceError(cause)
  if (isFinal(error) && messages.length === 1) {
    for (const message of messages) {
      log.error({ err: cause, stream, durable, sequence: message.seq }, 'message is a dead letter')
      await bury(bus, durable, message, `${error.code}: ${error.message}`)
    }
    return
  }
  log.warn({ err: cause, stream, durable, count: messages.length }, 'messages will be retried')
  for (const message of messages) message.nak(retryDelay(message.info.deliveryCount))
}

/**
 * The one consumer loop: it binds to a durable, hands out messages, and decides ack, nak and term
 * from what the handler throws. Survives outages of the bus.
 */
export const consume = (bus: Bus, options: ConsumeOptions): Part => {
  const { stream, durable, log, max_in_flight, concurrency = 1, batch = 1, handle } = options
  const waiting: JsMsg[] = []
  const wakers: (() => void)[] = []
  let messages: ConsumerMessages | undefined
  let stopped = true
  let running: Promise<unknown> | undefined
  const abort = new AbortController()

  const take = async (): Promise<JsMsg[]> => {
    if (waiting.length === 0 && !stopped) {
      await new Promise<void>((resolve) => wakers.push(resolve))
    }
    return waiting.splice(0, batch)
  }

  /** A batch that fails is tried one by one, so that one bad message does not hold up the rest. */
  const settle = async (taken: readonly JsMsg[]): Promise<void> => {
    try {
      await handle(taken.map(readMessage))
      for (const message of taken) message.ack()
    } catch (cause) {
      if (taken.length === 1 || toServiceError(cause).retryable) {
        await settleFailure(bus, options, taken, cause)
        return
      }
      for (const message of taken) await settle([message])
    }
  }

  const work = async (): Promise<void> => {
    while (!stopped) {
      const taken = await take()
      if (taken.length === 0) continue
      await settle(taken).catch((err: unknown) =>
        log.warn({ err, stream, durable }, 'messages could not be settled; they come again'),
      )
    }
  }

  const pull = async (): Promise<void> => {
    while (!stopped) {
      try {
        const consumer = await bus.js.consumers.get(stream, durable)
        messages = await consumer.consume({ max_messages: max_in_flight })
        for await (const message of messages) {
          waiting.push(message)
          wakers.shift()?.()
        }
      } catch (err) {
        if (!stopped) log.warn({ err, stream, durable }, 'consumer lost, binding again')
      }
      if (!stopped) {
        await delay(REBIND_MS, undefined, { signal: abort.signal }).catch(() => undefined)
      }
    }
  }

  return {
    name: `consume-${durable}`,
    start: async () => {
      stopped = false
      running = Promise.all([pull(), ...Array.from({ length: concurrency }, work)])
    },
    stop: async () => {
      if (stopped) return
      stopped = true
      abort.abort()
      await messages?.close()
      for (const wake of wakers.splice(0)) wake()
      await running
      // Given back rather than left to the ack wait: another replica goes on with them at once.
      for (const message of waiting.splice(0)) message.nak()
    },
  }
}

export const deadStream = streams.dead
