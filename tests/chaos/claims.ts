import { z } from 'zod'
import { type Call, isOk } from './calls.ts'

/** Claims as their holders know them: from the answers that they were given. */

const TodoAnswer = z.object({ id: z.string(), lease_expires_at: z.iso.datetime() })

const ClaimTerms = z.object({
  lease_token: z.string(),
  fence: z.int(),
  attempt_seq: z.int(),
})

export interface Claim {
  readonly todo_id: string
  readonly attempt_seq: number
  readonly fence: number
  /** Names the claim: every repeat of its call is given the same. */
  readonly token: string
  readonly actor: string
  /** What its caller would repeat it under; undefined: it would not. */
  readonly key: string | undefined
  /** When the call was made first; a repeat with the same key may tell of what that one did. */
  readonly invoked_at: number
  /** When the call was made that was answered. */
  readonly asked_at: number
  /** When its holder knew of it. */
  readonly answered_at: number
  /** As stated to the holder: whole seconds, rounded down. */
  readonly lease_until: number
  /** What the holder did under it, in order. */
  readonly acts: readonly Call[]
  /** Fences that repeats of the claim were answered with. */
  readonly fences: readonly number[]
}

const CLAIM_CALLS = new Set(['claim', 'claim_next'])

export const isClaimCall = (call: Call): boolean => CLAIM_CALLS.has(call.name)

const ClaimNextAnswer = z.object({ empty: z.boolean(), todo: z.unknown().optional() })

/** The claim in an answer; undefined for an empty queue. Throws when it is no answer to a claim. */
export const readClaimAnswer = (name: string, value: unknown) => {
  if (name === 'claim') return { ...TodoAnswer.parse(value), ...ClaimTerms.parse(value) }
  const { empty, todo } = ClaimNextAnswer.parse(value)
  if (empty) return undefined
  return { ...TodoAnswer.parse(todo), ...ClaimTerms.parse(value) }
}

const keyOf = ({ actor, input }: Call): string | undefined =>
  typeof input.idempotency_key === 'string' ? `${actor} ${input.idempotency_key}` : undefined

interface Draft extends Omit<Claim, 'acts'> {
  readonly fences: number[]
}

/** All claims that were answered, by todo, in the order of their numbers. */
export const readClaims = (calls: readonly Call[]): Map<string, Claim[]> => {
  const first_invoked = new Map<string, number>()
  const drafts = new Map<string, Draft>()
  const acts = new Map<string, Call[]>()
  for (const call of calls) {
    if (call.claim !== undefined) {
      acts.set(call.claim, [...(acts.get(call.claim) ?? []), call])
    }
    if (!isClaimCall(call)) continue
    const key = keyOf(call)
    if (key !== undefined && !first_invoked.has(key)) first_invoked.set(key, call.invoked_at)
  }
  const answered = calls.filter((call) => isClaimCall(call) && isOk(call))
  for (const call of answered.sort((a, b) => a.answered_at - b.answered_at)) {
    if (call.outcome.kind !== 'ok') continue
    const answer = readClaimAnswer(call.name, call.outcome.value)
    if (answer === undefined) continue
    const known = drafts.get(`${answer.id} ${answer.lease_token}`)
    if (known !== undefined) {
      known.fences.push(answer.fence)
      continue
    }
    const key = keyOf(call)
    drafts.set(`${answer.id} ${answer.lease_token}`, {
      todo_id: answer.id,
      attempt_seq: answer.attempt_seq,
      fence: answer.fence,
      token: answer.lease_token,
      actor: call.actor,
      key,
      invoked_at: first_invoked.get(key ?? '') ?? call.invoked_at,
      asked_at: call.invoked_at,
      answered_at: call.answered_at,
      lease_until: Date.parse(answer.lease_expires_at),
      fences: [answer.fence],
    })
  }
  const by_todo = new Map<string, Claim[]>()
  for (const draft of drafts.values()) {
    const claims = by_todo.get(draft.todo_id) ?? []
    claims.push({ ...draft, acts: acts.get(draft.token) ?? [] })
    by_todo.set(draft.todo_id, claims)
  }
  for (const claims of by_todo.values()) {
    claims.sort((a, b) => a.attempt_seq - b.attempt_seq || a.answered_at - b.answered_at)
  }
  return by_todo
}
