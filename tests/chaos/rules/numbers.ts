import { type Call, hiddenTries } from '../calls.ts'
import { type Claim, isClaimCall } from '../claims.ts'
import type { Violation } from '../violation.ts'

/** Fences only grow; claims are numbered one by one. */

const checkFences = (claims: readonly Claim[]): Violation[] =>
  claims.flatMap((a, i) => {
    const { todo_id } = a
    const found: Violation[] = []
    if (a.fences.some((fence) => fence !== a.fence)) {
      const message = `claim ${a.attempt_seq} of ${a.actor} was answered with the fences ${a.fences.join(', ')}`
      found.push({ rule: 'fence-changed', todo_id, message })
    }
    for (const b of claims.slice(i + 1)) {
      // Sorted by number: b is the later claim, unless the two have the same.
      const later = b.attempt_seq > a.attempt_seq || b.invoked_at > a.answered_at
      if (a.fence === b.fence || (later && b.fence < a.fence)) {
        const message = `claim ${b.attempt_seq} of ${b.actor} has fence ${b.fence}, after claim ${a.attempt_seq} of ${a.actor} with ${a.fence}`
        found.push({ rule: 'fence-order', todo_id, message })
      }
    }
    return found
  })

const checkOrder = (claims: readonly Claim[]): Violation[] =>
  claims.flatMap((a, i) =>
    claims.slice(i + 1).flatMap((b): Violation[] => {
      const { todo_id } = a
      if (a.attempt_seq === b.attempt_seq) {
        const message = `number ${a.attempt_seq} was given to ${a.actor} and to ${b.actor}`
        return [{ rule: 'attempt-number', todo_id, message }]
      }
      if (b.answered_at >= a.invoked_at) return []
      const message = `number ${b.attempt_seq} was given before number ${a.attempt_seq} was asked for`
      return [{ rule: 'attempt-number', todo_id, message }]
    }),
  )

interface Gap {
  readonly todo_id: string
  readonly attempt_seq: number
  /** By then the claim that nobody was told of had been made. */
  readonly made_before: number
}

const gapsOf = (todo_id: string, claims: readonly Claim[], total: number): Gap[] => {
  const known = new Map(claims.map((claim) => [claim.attempt_seq, claim]))
  const highest = Math.max(total, ...known.keys())
  const gaps: Gap[] = []
  let made_before = Number.POSITIVE_INFINITY
  for (let attempt_seq = highest; attempt_seq >= 1; attempt_seq -= 1) {
    const claim = known.get(attempt_seq)
    if (claim === undefined) gaps.push({ todo_id, attempt_seq, made_before })
    else made_before = Math.min(made_before, claim.answered_at)
  }
  return gaps
}

const couldFill = (call: Call, gap: Gap): boolean =>
  call.invoked_at < gap.made_before && (call.name === 'claim_next' || call.input.id === gap.todo_id)

/**
 * A number that nobody was given must be that of a claim whose answer was lost. Each call can have
 * made only so many claims unseen, so this also counts them over all todos.
 */
const checkGaps = (gaps: readonly Gap[], calls: readonly Call[]): Violation[] => {
  const hidden = calls
    .filter(isClaimCall)
    .map((call) => ({ call, left: hiddenTries(call) }))
    .filter(({ left }) => left > 0)
  // The tightest gap takes the latest call that fits, so that early calls remain for early gaps.
  const by_need = [...gaps].sort((a, b) => a.made_before - b.made_before)
  return by_need.flatMap((gap): Violation[] => {
    const able = hidden.filter(({ call, left }) => left > 0 && couldFill(call, gap))
    // One that can fill only gaps of this todo is spent before one that could fill any.
    const filler = able.find(({ call }) => call.name === 'claim') ?? able[0]
    if (filler !== undefined) {
      filler.left -= 1
      return []
    }
    const message = `number ${gap.attempt_seq} was given to nobody, and no lost answer explains it`
    return [{ rule: 'attempt-number', todo_id: gap.todo_id, message }]
  })
}

/** `totals`: claims that each todo counts in the end, where that is known. */
export const checkNumbers = (
  by_todo: ReadonlyMap<string, readonly Claim[]>,
  calls: readonly Call[],
  totals: ReadonlyMap<string, number>,
): Violation[] => {
  const gaps: Gap[] = []
  const found: Violation[] = []
  for (const todo_id of new Set([...by_todo.keys(), ...totals.keys()])) {
    const claims = by_todo.get(todo_id) ?? []
    gaps.push(...gapsOf(todo_id, claims, totals.get(todo_id) ?? 0))
    found.push(...checkFences(claims), ...checkOrder(claims))
  }
  return [...found, ...checkGaps(gaps, calls)]
}
