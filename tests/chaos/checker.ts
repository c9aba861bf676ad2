import { toCalls } from './calls.ts'
import { readClaims } from './claims.ts'
import { readFinalState } from './final-state.ts'
import type { Line } from './history.ts'
import { readItems } from './items.ts'
import { checkAccepted, checkAnswers } from './rules/accepted.ts'
import { checkDone, checkFinished } from './rules/finished.ts'
import { CLOCK_TOLERANCE_MS } from './rules/hold.ts'
import { checkHolders } from './rules/holders.ts'
import { checkKeys } from './rules/keys.ts'
import { checkNumbers } from './rules/numbers.ts'
import { checkPayloads } from './rules/payloads.ts'
import type { Violation } from './violation.ts'

/**
 * The judge: from the history alone, with no access to the system, to what it proves to have gone
 * wrong. Sound rather than complete: whatever an answer that was lost, a call that may still be
 * under way, or the reading of clocks could explain, is not reported.
 */
export const check = (lines: readonly Line[]): Violation[] => {
  const { calls, clock_step_ms } = toCalls(lines)
  const claims = readClaims(calls)
  const items = readItems(calls)
  const final = readFinalState(lines, calls)
  const tolerance_ms = CLOCK_TOLERANCE_MS + clock_step_ms
  const totals = new Map(
    [...(final?.todos.values() ?? [])].map((todo) => [todo.id, todo.attempts_total]),
  )
  return [
    ...[...claims.values()].flatMap((of_todo) => [
      ...checkHolders(of_todo, tolerance_ms),
      ...checkDone(of_todo),
    ]),
    ...checkKeys([...claims.values()].flat(), tolerance_ms),
    ...checkNumbers(claims, calls, totals),
    ...checkPayloads(calls),
    ...checkAnswers(items),
    ...(final === undefined
      ? []
      : [
          // What was not read is not thereby lost.
          ...(final.missing.length > 0 ? [] : checkAccepted(items, final)),
          ...checkFinished(claims, final),
        ]),
  ]
}
