import { setTimeout as delay } from 'node:timers/promises'
import { ServiceError } from '@guildhall/contracts'
import type { Logger } from '@guildhall/runtime'

/**
 * How long an answer waits for its change to be in force where others read it: who revokes a
 * credential and reads "revoked" may rely on it. What the wait does not see through, the relay does.
 */
const SETTLE_WAIT_MS = 2_000

const OVERDUE = Symbol('overdue')

const notInForce = (cause?: unknown): ServiceError =>
  new ServiceError('unavailable', 'the change is stored, but not yet in force everywhere', {
    cause,
    what_to_do:
      'It takes effect by itself once the bus is back. For the answer, repeat the call with the same idempotency key.',
  })

/**
 * Waits until what was committed has left the outbox. Callers share flushes: one that began before
 * a commit may miss it, so a caller waits for the next, and all who wait then wait for the same one.
 * That also bounds the connections that flushes hold while the bus is slow.
 */
export const createSettle = (flush: () => Promise<void>, log: Logger): (() => Promise<void>) => {
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined

  const begin = (): Promise<void> => {
    next = undefined
    const flushing = flush().finally(() => {
      if (running === flushing) running = undefined
    })
    running = flushing
    return flushing
  }

  const flushed = (): Promise<void> => {
    if (running === undefined) return begin()
    next ??= running.then(begin, begin)
    return next
  }

  return async () => {
    const timer = new AbortController()
    const overdue = delay(SETTLE_WAIT_MS, OVERDUE, { signal: timer.signal })
    overdue.catch(() => undefined) // it ends so when the flush is first
    const flushing = flushed()
    // When the wait is over first, nobody else looks at how the flush ends.
    flushing.catch((err: unknown) => log.warn({ err }, 'outbox not flushed; it is retried'))
    const outcome = await Promise.race([flushing, overdue])
      .catch((cause: unknown) => {
        throw notInForce(cause)
      })
      .finally(() => timer.abort())
    if (outcome === OVERDUE) throw notInForce()
  }
}
