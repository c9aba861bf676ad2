import { RPC_TIMEOUT_MS } from '@guildhall/contracts'
import type { CallInfo, Line, Outcome } from './history.ts'

/** Calls and their answers brought together again, with what can be known about each. */

export interface Call extends CallInfo {
  readonly n: number
  /** Wall-clock milliseconds on the recorder's steady clock. */
  readonly invoked_at: number
  /** Infinity: no answer. */
  readonly answered_at: number
  readonly outcome: Outcome
}

interface Calls {
  readonly calls: readonly Call[]
  /** How far the machine's wall clock was set during the run; leases cannot be read finer. */
  readonly clock_step_ms: number
}

const NEVER_ANSWERED: Outcome = { kind: 'unknown', reason: 'no answer is in the history' }

export const toCalls = (lines: readonly Line[]): Calls => {
  const first = lines[0]
  const base = first === undefined ? 0 : first.wall - first.t
  const answers = new Map<number, { readonly at: number; readonly outcome: Outcome }>()
  let clock_step_ms = 0
  for (const line of lines) {
    clock_step_ms = Math.max(clock_step_ms, Math.abs(line.wall - line.t - base))
    if (line.kind !== 'answer') continue
    if (answers.has(line.n)) throw new Error(`the history answers call ${line.n} twice`)
    answers.set(line.n, { at: base + line.t, outcome: line.outcome })
  }
  const calls = lines.flatMap((line): Call[] => {
    if (line.kind !== 'call') return []
    const { kind: _kind, t, wall: _wall, ...call } = line
    const answer = answers.get(line.n)
    const answered = answer !== undefined && answer.outcome.kind !== 'unknown'
    return [
      {
        ...call,
        invoked_at: base + t,
        answered_at: answered ? answer.at : Number.POSITIVE_INFINITY,
        outcome: answer?.outcome ?? NEVER_ANSWERED,
      },
    ]
  })
  return { calls, clock_step_ms }
}

/** Errors that are also said when a write may have reached the disk and only its receipt did not. */
const UNDECIDED = new Set(['unavailable', 'deadline_exceeded', 'internal'])

/**
 * The gateway sends a call that was not answered in time once more. The answer then is that of the
 * second try, and says nothing about the first.
 */
export const mayHideATry = (call: Call): boolean =>
  call.answered_at - call.invoked_at >= RPC_TIMEOUT_MS

/** Whether the call may have had its effect, at any time from its invocation on. */
export const mayHaveHappened = (call: Call): boolean => {
  const { outcome } = call
  if (outcome.kind !== 'error') return true
  return UNDECIDED.has(outcome.code) || mayHideATry(call)
}

export const isOk = (call: Call): boolean => call.outcome.kind === 'ok'

/** Effects of one call that its answer, if there is one, does not tell of. */
export const hiddenTries = (call: Call): number => {
  if (isOk(call)) return mayHideATry(call) ? 1 : 0
  return mayHaveHappened(call) ? 2 : 0
}
