import { setTimeout as delay } from 'node:timers/promises'
import { ServiceError } from '@guildhall/contracts'
import type { Logger } from '@guildhall/runtime'
import { PROJECTION_WAIT_MS } from './limits.ts'

const OVERDUE = Symbol('overdue')

const notInForce = (cause?: unknown): ServiceError =>
  new ServiceError('unavailable', 'the change is stored, but not yet in force everywhere', {
    cause,
    what_to_do: 'It takes effect by itself once the bus is back. Repeat the call to be sure.',
  })

/**
 * Waits until what was committed has left the outbox, so that a caller finds its change wherever it
 * looks next; for so long, and then says that it is only stored.
 */
export const createSettle =
  (flush: () => Promise<void>, log: Logger): (() => Promise<void>) =>
  async () => {
    const timer = new AbortController()
    const overdue = delay(PROJECTION_WAIT_MS, OVERDUE, { signal: timer.signal })
    overdue.catch(() => undefined) // it ends so when the flush is first
    const flushing = flush()
    // When the wait is over first, nobody else looks at how the flush ends.
    flushing.catch((err: unknown) => log.warn({ err }, 'outbox not flushed; it is retried'))
    const outcome = await Promise.race([flushing, overdue])
      .catch((cause: unknown) => {
        throw notInForce(cause)
      })
      .finally(() => timer.abort())
    if (outcome === OVERDUE) throw notInForce()
  }
