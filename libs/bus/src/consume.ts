import { setTimeout as delay } from 'node:timers/promises'
import {
  errorCodes,
  headers as headerNames,
  type ServiceError,
  toServiceError,
} from '@guildhall/contracts'
import { type Clock, type Logger, type Part, systemClock } from '@guildhall/runtime'
import type { Consumer, ConsumerMessages, JsMsg } from 'nats'
import type { Bus } from './connect.ts'
import { headerJson, publish } from './publish.ts'

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
   * How long the first message of a batch may wait for it to become full. For handlers whose cost
   * is by the batch and that nobody waits for; none by default.
   */
  readonly linger_ms?: number
  /** The linger is counted by it. */
  readonly clock?: Clock
  /**
   * For work that outlasts the ack wait: a message is pulled once a worker is free for it, so none
   * waits here, unattended, until the server hands it out a second time. `batch` is 1 then.
   */
  readonly on_demand?: boolean
  /** After so many deliveries a message that fails for an unknown reason is a dead letter. */
  readonly deliveries_max?: number
  /**
   * Returns: all are acknowledged. Throws a ServiceError that is not retryable: they go to the
   * dead-letter stream with the reason. Throws a retryable one: they come again after a growing
   * delay, for as long as it takes. Throws anything else: likewise, but not for ever.
   */
  readonly handle: (messages: readonly StreamMessage[]) => Promise<void>
}

const RETRY_FIRST_MS = 250
const RETRY_MAX_MS = 60_000
const REBIND_MS = 500
/** How long one pull on demand stays open; also what it can hold up a stop for. */
const DEMAND_EXPIRES_MS = 1_000

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

const DELIVERIES_MAX = 12

/**
 * A problem in the message itself, which no repeat will cure, or one that nobody foresaw and that
 * repeats have not cured either. A dependency that is down is neither, however long it is.
 */
const isFinal = (error: ServiceError, deliveries: number, deliveries_max: number): boolean => {
  if (errorCodes[error.code].retryable) return false
  return error.code !== 'internal' || deliveries >= deliveries_max
}

/** What told the server how to store the original must not be said of the copy as well. */
const SERVER_HEADER = /^nats-/i

const ownHeaders = (message: JsMsg): Record<string, string> =>
  Object.fromEntries(
    Object.entries(readMessage(message).headers).filter(([name]) => !SERVER_HEADER.test(name)),
  )

const UNSAFE_TOKEN = /[^A-Za-z0-9_-]/g

const bury = async (bus: Bus, durable: string, message: JsMsg, reason: string): Promise<void> => {
  const source = message.subject.replace(UNSAFE_TOKEN, '_')
  await publish(bus, `dead.0.${durable}.${source}-${message.seq}`, message.data, {
    headers: { ...ownHeaders(message), [headerNames.reason]: headerJson(reason.slice(0, 500)) },
  })
  message.term(reason.slice(0, 200))
}

const settleFailure = async (
  bus: Bus,
  { durable, log, stream, deliveries_max = DELIVERIES_MAX }: ConsumeOptions,
  messages: readonly JsMsg[],
  cause: unknown,
): Promise<void> => {
  const error = toServiceError(cause)
  const [only, ...others] = messages
  const alone = others.length === 0 ? only : undefined
  if (alone !== undefined && isFinal(error, alone.info.deliveryCount, deliveries_max)) {
    log.error({ err: cause, stream, durable, sequence: alone.seq }, 'message is a dead letter')
    await bury(bus, durable, alone, `${error.code}: ${error.message}`)
    return
  }
  log.warn({ err: cause, stream, durable, count: messages.length }, 'messages will be retried')
  for (const message of messages) message.nak(retryDelay(message.info.deliveryCount))
}

interface Waiting {
  readonly message: JsMsg
  readonly since_ms: number
}

/**
 * The one consumer loop: it binds to a durable, hands out messages, and decides ack, nak and term
 * from what the handler throws. Survives outages of the bus.
 */
export const consume = (bus: Bus, options: ConsumeOptions): Part => {
  const { stream, durable, log, max_in_flight, concurrency = 1, batch = 1, handle } = options
  const { linger_ms = 0, on_demand = false, clock = systemClock } = options
  const waiting: Waiting[] = []
  const wakers: (() => void)[] = []
  /** End the lingering of those who have a message and hope for more. */
  const lingering = new Set<() => void>()
  let messages: ConsumerMessages | undefined
  let stopped = true
  let running: Promise<unknown> | undefined
  const abort = new AbortController()

  const linger = async (): Promise<void> => {
    const [first] = waiting
    if (first === undefined || waiting.length >= batch || stopped) return
    const left_ms = Math.min(linger_ms, first.since_ms + linger_ms - clock.now())
    if (left_ms <= 0) return
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        lingering.delete(end)
        resolve()
      }
      const timer = setTimeout(end, left_ms)
      lingering.add(end)
    })
  }

  const take = async (): Promise<JsMsg[]> => {
    if (waiting.length === 0 && !stopped) {
      await new Promise<void>((resolve) => wakers.push(resolve))
    }
    if (linger_ms > 0) await linger()
    return waiting.splice(0, batch).map(({ message }) => message)
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

  const settleOrLeave = (taken: readonly JsMsg[]): Promise<void> =>
    settle(taken).catch((err: unknown) =>
      log.warn({ err, stream, durable }, 'messages could not be settled; they come again'),
    )

  const work = async (): Promise<void> => {
    while (!stopped) {
      const taken = await take()
      if (taken.length > 0) await settleOrLeave(taken)
    }
  }

  /** Binds to the consumer, and again whenever that ends, until the stop. */
  const bound = async (use: (consumer: Consumer) => Promise<void>): Promise<void> => {
    while (!stopped) {
      try {
        await use(await bus.js.consumers.get(stream, durable))
      } catch (err) {
        if (!stopped) log.warn({ err, stream, durable }, 'consumer lost, binding again')
      }
      if (!stopped) {
        await delay(REBIND_MS, undefined, { signal: abort.signal }).catch(() => undefined)
      }
    }
  }

  const pull = async (consumer: Consumer): Promise<void> => {
    messages = await consumer.consume({ max_messages: max_in_flight })
    for await (const message of messages) {
      waiting.push({ message, since_ms: clock.now() })
      if (waiting.length >= batch) for (const end of lingering) end()
      wakers.shift()?.()
    }
  }

  const workOnDemand = async (consumer: Consumer): Promise<void> => {
    while (!stopped) {
      const message = await consumer.next({ expires: DEMAND_EXPIRES_MS })
      if (message === null) continue
      if (stopped) message.nak()
      else await settleOrLeave([message])
    }
  }

  return {
    name: `consume-${durable}`,
    start: async () => {
      stopped = false
      const workers = Array.from({ length: concurrency })
      running = Promise.all(
        on_demand
          ? workers.map(() => bound(workOnDemand))
          : [bound(pull), ...workers.map(() => work())],
      )
    },
    stop: async () => {
      if (stopped) return
      stopped = true
      abort.abort()
      await messages?.close()
      for (const wake of [...wakers.splice(0), ...lingering]) wake()
      await running
      // Given back rather than left to the ack wait: another replica goes on with them at once.
      for (const { message } of waiting.splice(0)) message.nak()
    },
  }
}
