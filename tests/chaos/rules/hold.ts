import { z } from 'zod'
import { type Call, isOk, mayHaveHappened, mayHideATry } from '../calls.ts'
import type { Claim } from '../claims.ts'

/**
 * When a claim was certainly held: from the moment its holder was answered, until the earliest of
 *
 * - the end of the lease as the server stated it last,
 * - the moment its holder made a call that may end it, and
 * - the answer that it does not hold.
 *
 * Nothing else is certain. Before its answer the claim may not have been made yet; after a call to
 * complete, fail or release was sent, it may be over whatever the answer says. So whatever is
 * concluded from two such times is true, and some of what went wrong may go unseen: never the other
 * way round.
 */
export interface Hold {
  readonly from: number
  /** Exclusive; may lie before `from`: then there was no moment of certainty. */
  readonly until: number
}

/**
 * How far two readings of time may differ. Leases are stated by services and judged here, on one
 * machine with one clock; each process rounds to a millisecond and reads the clock a moment apart.
 * Stated leases are whole seconds rounded down, which only makes them shorter than they are.
 */
export const CLOCK_TOLERANCE_MS = 100

const ENDINGS = new Set(['complete', 'fail', 'release'])

export const isEnding = (call: Call): boolean => ENDINGS.has(call.name)

const HeartbeatAnswer = z.object({ lease_expires_at: z.iso.datetime() })

/** Milliseconds that a heartbeat asks for; undefined: it never shortens the lease. */
const askedFor = ({ input }: Call): number | undefined => {
  const { lease_ttl_seconds: seconds } = input
  return typeof seconds === 'number' && seconds > 0 ? seconds * 1_000 : undefined
}

const byTime = (a: Call, b: Call): number => a.invoked_at - b.invoked_at

interface Holds {
  readonly final: Hold
  /** As it was when each act was made. */
  readonly before: ReadonlyMap<Call, Hold>
}

export const holdsOf = (claim: Claim, tolerance_ms: number): Holds => {
  const from = claim.answered_at
  const before = new Map<Call, Hold>()
  let until = claim.lease_until - tolerance_ms
  // A heartbeat whose answer was lost may still arrive, and set a shorter lease than a later one.
  let shortest_pending = Number.POSITIVE_INFINITY
  let maybe_ended = false
  for (const act of [...claim.acts].sort(byTime)) {
    before.set(act, { from, until })
    const asked = askedFor(act) ?? Number.POSITIVE_INFINITY
    if (isEnding(act)) {
      maybe_ended = true
      until = Math.min(until, act.invoked_at)
      continue
    }
    if (!mayHaveHappened(act)) {
      until = Math.min(until, act.answered_at)
      continue
    }
    if (!isOk(act) || mayHideATry(act)) shortest_pending = Math.min(shortest_pending, asked)
    if (act.outcome.kind === 'ok' && !maybe_ended) {
      // Accepted: so nobody had taken it up to then, even if the lease was just over.
      const stated = Date.parse(HeartbeatAnswer.parse(act.outcome.value).lease_expires_at)
      until = Math.min(stated, act.answered_at + shortest_pending) - tolerance_ms
    } else {
      until = Math.min(until, act.invoked_at + asked - tolerance_ms)
    }
  }
  return { final: { from, until }, before }
}

export const overlap = (a: Hold, b: Hold): number =>
  Math.min(a.until, b.until) - Math.max(a.from, b.from)
