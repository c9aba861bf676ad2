import { mayHaveHappened } from '../calls.ts'
import type { Claim } from '../claims.ts'
import type { Violation } from '../violation.ts'
import { type Hold, holdsOf, isEnding, overlap } from './hold.ts'

/** At any time at most one unexpired holder; and whoever is not the holder changes nothing. */

const name = ({ actor, attempt_seq, fence }: Claim): string =>
  `${actor} (claim ${attempt_seq}, fence ${fence})`

/** Both held at once. */
const checkOverlap = (a: Claim, a_hold: Hold, b: Claim, b_hold: Hold): Violation[] => {
  const common_ms = overlap(a_hold, b_hold)
  if (common_ms <= 0) return []
  return [
    {
      rule: 'two-holders',
      todo_id: a.todo_id,
      message: `${name(a)} and ${name(b)} both held it for ${Math.ceil(common_ms)} ms`,
    },
  ]
}

/** The second was made from begin to end while the first was held, however short it was itself. */
const checkTakenInside = (a: Claim, hold: Hold, b: Claim): Violation[] => {
  if (b.invoked_at < hold.from || b.answered_at >= hold.until) return []
  return [
    {
      rule: 'two-holders',
      todo_id: a.todo_id,
      message: `${name(b)} was given it ${Math.ceil(hold.until - b.answered_at)} ms before the hold of ${name(a)} ended`,
    },
  ]
}

const checkPair = (a: Claim, b: Claim, holds: ReadonlyMap<Claim, Hold>): Violation[] => {
  const a_hold = holds.get(a)
  const b_hold = holds.get(b)
  if (a_hold === undefined || b_hold === undefined) return []
  const overlapping = checkOverlap(a, a_hold, b, b_hold)
  if (overlapping.length > 0) return overlapping
  return [...checkTakenInside(a, a_hold, b), ...checkTakenInside(b, b_hold, a)]
}

/** A refusal that no lost answer explains, while the lease certainly ran. */
const checkRefusals = (claim: Claim, tolerance_ms: number): Violation[] => {
  const { before } = holdsOf(claim, tolerance_ms)
  return claim.acts.flatMap((act): Violation[] => {
    const { outcome } = act
    if (outcome.kind !== 'error' || outcome.code !== 'conflict' || mayHaveHappened(act)) return []
    const hold = before.get(act)
    if (hold === undefined || act.answered_at >= hold.until) return []
    return [
      {
        rule: 'holder-refused',
        todo_id: claim.todo_id,
        message: `${act.name} of ${name(claim)} was refused ${Math.ceil(hold.until - act.answered_at)} ms before its lease ended: ${outcome.message}`,
        calls: [act.n],
      },
    ]
  })
}

/** What a holder did with success although a later claim was known before it was even asked. */
const checkStale = (claim: Claim, later: readonly Claim[]): Violation[] =>
  claim.acts.flatMap((act): Violation[] => {
    if (act.outcome.kind !== 'ok' || !(isEnding(act) || act.name === 'heartbeat')) return []
    const taker = later.find((other) => other.answered_at < act.invoked_at)
    if (taker === undefined) return []
    return [
      {
        rule: 'stale-holder',
        todo_id: claim.todo_id,
        message: `${act.name} of ${name(claim)} took effect after ${name(taker)} had taken it`,
        calls: [act.n],
      },
    ]
  })

export const checkHolders = (claims: readonly Claim[], tolerance_ms: number): Violation[] => {
  const holds = new Map(claims.map((claim) => [claim, holdsOf(claim, tolerance_ms).final]))
  return claims.flatMap((claim, i) => {
    const others = claims.slice(i + 1)
    return [
      ...others.flatMap((other) => checkPair(claim, other, holds)),
      ...checkRefusals(claim, tolerance_ms),
      ...checkStale(
        claim,
        others.filter((other) => other.attempt_seq > claim.attempt_seq),
      ),
    ]
  })
}
