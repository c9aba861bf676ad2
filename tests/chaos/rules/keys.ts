import type { Claim } from '../claims.ts'
import type { Violation } from '../violation.ts'
import { holdsOf } from './hold.ts'

/** Asking again under the same key, while the claim is held, gives the same claim. */
export const checkKeys = (claims: readonly Claim[], tolerance_ms: number): Violation[] => {
  const by_key = new Map<string, Claim[]>()
  for (const claim of claims) {
    if (claim.key === undefined) continue
    by_key.set(claim.key, [...(by_key.get(claim.key) ?? []), claim])
  }
  return [...by_key.values()].flatMap((of_key) =>
    of_key.flatMap((first): Violation[] => {
      const { from, until } = holdsOf(first, tolerance_ms).final
      const other = of_key.find((claim) => claim.asked_at >= from && claim.answered_at < until)
      if (other === undefined || other === first) return []
      const message = `${first.actor} asked again under ${first.key} while it held claim ${first.attempt_seq}, and was given claim ${other.attempt_seq} of ${other.todo_id}`
      return [{ rule: 'claimed-again', todo_id: first.todo_id, message }]
    }),
  )
}
