import { closeSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { z } from 'zod'

/**
 * What happened, as seen from outside: a line when a call is made, a line when its answer came. The
 * two are separate lines, so that the file is true at whatever moment its writer dies: a call that
 * has no answer in it is one whose outcome nobody knows.
 */

const Times = {
  /** Steady: milliseconds since the recorder's process began. */
  t: z.number(),
  /** The wall clock, which may be set while we run. */
  wall: z.number(),
}

export const Outcome = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('ok'), value: z.unknown() }),
  z.strictObject({ kind: z.literal('error'), code: z.string(), message: z.string() }),
  /** No answer came. It may have happened, and it may still happen. */
  z.strictObject({ kind: z.literal('unknown'), reason: z.string() }),
])
export type Outcome = z.infer<typeof Outcome>

const CallLine = z.strictObject({
  kind: z.literal('call'),
  n: z.int(),
  ...Times,
  actor: z.string(),
  name: z.string(),
  /** The replica that was asked. */
  to: z.string(),
  input: z.record(z.string(), z.unknown()),
  /** The piece of work that the caller means, by a name that the test gave it. */
  item: z.string().optional(),
  /** The lease token of the claim that the caller acts under, sent along or not. */
  claim: z.string().optional(),
})

const AnswerLine = z.strictObject({
  kind: z.literal('answer'),
  n: z.int(),
  ...Times,
  outcome: Outcome,
})

const FaultLine = z.strictObject({
  kind: z.literal('fault'),
  ...Times,
  what: z.string(),
  phase: z.enum(['begin', 'end']),
})

/** `audit`: from here on the auditor's calls describe the final state. */
const MarkLine = z.strictObject({
  kind: z.literal('mark'),
  ...Times,
  mark: z.enum(['begin', 'faults-over', 'audit', 'end']),
  note: z.string(),
})

export const Line = z.discriminatedUnion('kind', [CallLine, AnswerLine, FaultLine, MarkLine])
export type Line = z.infer<typeof Line>

type Unstamped<T> = T extends Line ? Omit<T, 't' | 'wall'> : never

export type CallInfo = Omit<z.infer<typeof CallLine>, 'kind' | 'n' | 't' | 'wall'>

export interface History {
  readonly file: string
  /** Records the call, makes it, records the answer. `make` must not throw. */
  record(call: CallInfo, make: () => Promise<Outcome>): Promise<Outcome>
  fault(what: string, phase: 'begin' | 'end'): void
  mark(mark: z.infer<typeof MarkLine>['mark'], note?: string): void
  /** How often a call of this name succeeded. */
  succeeded(name: string): number
  close(): void
}

export const openHistory = (file: string): History => {
  mkdirSync(dirname(file), { recursive: true })
  const out = openSync(file, 'w')
  const succeeded = new Map<string, number>()
  let calls = 0
  let open = true
  const write = (line: Unstamped<Line>): void => {
    // An answer to a call that outlived the run is no part of the history.
    if (!open) return
    writeSync(out, `${JSON.stringify({ ...line, t: performance.now(), wall: Date.now() })}\n`)
  }
  return {
    file,
    record: async (call, make) => {
      calls += 1
      const n = calls
      write({ kind: 'call', n, ...call })
      const outcome = await make()
      write({ kind: 'answer', n, outcome })
      if (outcome.kind === 'ok') succeeded.set(call.name, (succeeded.get(call.name) ?? 0) + 1)
      return outcome
    },
    fault: (what, phase) => write({ kind: 'fault', what, phase }),
    mark: (mark, note = '') => write({ kind: 'mark', mark, note }),
    succeeded: (name) => succeeded.get(name) ?? 0,
    close: () => {
      if (!open) return
      open = false
      closeSync(out)
    },
  }
}

export const readHistory = (file: string): Line[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((text) => text !== '')
    .map((text) => Line.parse(JSON.parse(text)))
