import { z } from 'zod'
import { type Call, isOk, toCalls } from './calls.ts'
import { isClaimCall, readClaimAnswer, readClaims } from './claims.ts'
import { readFinalState } from './final-state.ts'
import type { Line } from './history.ts'
import { isEnding } from './rules/hold.ts'

/** How much happened. A run in which nothing was contested proves nothing. */
export interface Counts {
  readonly calls: number
  readonly unanswered: number
  readonly accepted: number
  /** Deliveries and hand-overs that were answered as known already. */
  readonly duplicates: number
  readonly claims: number
  /** Claims that were made and of which nobody was told. */
  readonly claims_unseen: number
  /** Claims given again to a caller who asked again with the same key. */
  readonly claims_repeated: number
  /** Claims that their holder did not end. */
  readonly lapses: number
  /** Of those, the ones whose todo somebody claimed next. */
  readonly takeovers: number
  readonly heartbeats: number
  readonly completions: number
  /** Holders that came too late, and were told so. */
  readonly late_refused: number
  readonly claim_conflicts: number
  readonly faults: number
}

const Created = z.object({ created: z.union([z.int(), z.boolean()]) })

const isProduction = ({ name }: Call): boolean => name === 'webhook' || name === 'create_todo'

const isNew = (call: Call): boolean =>
  call.outcome.kind === 'ok' && Number(Created.parse(call.outcome.value).created) > 0

const isConflict = ({ outcome }: Call): boolean =>
  outcome.kind === 'error' && outcome.code === 'conflict'

const gaveWork = (call: Call): boolean =>
  call.outcome.kind === 'ok' && readClaimAnswer(call.name, call.outcome.value) !== undefined

export const countHistory = (lines: readonly Line[]): Counts => {
  const { calls } = toCalls(lines)
  const by_todo = [...readClaims(calls).values()]
  const claims = by_todo.flat()
  const produced = calls.filter((call) => isProduction(call) && isOk(call))
  const claiming = calls.filter(isClaimCall)
  const lapsed = claims.filter((claim) => !claim.acts.some((act) => isEnding(act) && isOk(act)))
  const final = readFinalState(lines, calls)?.todos.values() ?? []
  const made = [...final].reduce((sum, todo) => sum + todo.attempts_total, 0)
  const newest = new Set(by_todo.map((of_todo) => of_todo.at(-1)))
  return {
    calls: calls.length,
    unanswered: calls.filter((call) => call.outcome.kind === 'unknown').length,
    accepted: produced.filter(isNew).length,
    duplicates: produced.filter((call) => !isNew(call)).length,
    claims: claims.length,
    claims_unseen: Math.max(0, made - claims.length),
    claims_repeated: claiming.filter(gaveWork).length - claims.length,
    lapses: lapsed.length,
    takeovers: lapsed.filter((claim) => !newest.has(claim)).length,
    heartbeats: calls.filter((call) => call.name === 'heartbeat' && isOk(call)).length,
    completions: calls.filter((call) => call.name === 'complete' && isOk(call)).length,
    late_refused: calls.filter((call) => call.claim !== undefined && isConflict(call)).length,
    claim_conflicts: claiming.filter(isConflict).length,
    faults: lines.filter((line) => line.kind === 'fault' && line.phase === 'begin').length,
  }
}
