import type { Line, Outcome } from './history.ts'

/** Histories written by hand, to see what the checker makes of them. Times in ms from the start. */

const START = Date.parse('2026-01-01T00:00:00Z')

const ANSWER_MS = 10

const times = (t: number) => ({ t, wall: START + t })

const iso = (t: number): string => new Date(START + t).toISOString().replace(/\.\d+Z$/, 'Z')

export const ok = (value: unknown): Outcome => ({ kind: 'ok', value })
export const refused = (code: string): Outcome => ({ kind: 'error', code, message: 'no' })
export const lost: Outcome = { kind: 'unknown', reason: 'the connection was lost' }

interface Told {
  readonly at: number
  readonly took?: number
  readonly by?: string
}

interface ClaimTold extends Told {
  readonly todo?: string
  readonly seq?: number
  readonly fence?: number
  readonly lease?: number
  readonly key?: string
  readonly payload?: unknown
}

interface ActTold extends Told {
  readonly seq?: number
  readonly outcome?: Outcome
  readonly ttl?: number
  readonly result?: unknown
}

interface ProducedTold extends Told {
  readonly item?: string
  readonly outcome?: Outcome
}

interface FinalTold {
  readonly id?: string
  readonly item?: string
  readonly state?: string
  readonly listed?: string
  readonly dead_letter?: boolean
  readonly attempt?: number
  readonly max_attempts?: number
  readonly total?: number
  readonly attempts?: readonly number[]
  readonly result?: unknown
}

interface CallTold extends Told {
  readonly name: string
  readonly input?: Record<string, unknown>
  readonly item?: string
  readonly claim?: string
  readonly outcome?: Outcome
}

export const TODO_ID = 'td-1'
const ITEM = 'w-1'

export const accepted = (id = TODO_ID, created = 1): Outcome => ok({ id, created })

const tokenOf = (todo: string, seq: number, by: string): string => `token-${todo}-${seq}-${by}`

const keyed = (key: string | undefined) => (key === undefined ? {} : { idempotency_key: key })

const finalTodo = (told: FinalTold) => {
  const total = told.total ?? 1
  const shown = told.attempts ?? Array.from({ length: total }, (_, i) => total - i)
  const attempt = told.attempt ?? total
  return {
    id: told.id ?? TODO_ID,
    title: `a delivery [${told.item ?? ITEM}]`,
    state: told.state ?? 'done',
    attempt,
    max_attempts: told.max_attempts ?? 5,
    dead_letter: told.dead_letter ?? false,
    result: told.result ?? null,
    attempts: shown.map((seq) => ({ seq, outcome: 'completed' })),
    attempts_total: total,
    attempts_pruned: 0,
  }
}

/** Written one call after the other; each has its answer a moment later. */
export class Story {
  readonly lines: Line[] = []
  #calls = 0

  call({ at, took = ANSWER_MS, by = 'a', outcome, input = {}, ...told }: CallTold): void {
    this.#calls += 1
    const n = this.#calls
    this.lines.push({ kind: 'call', n, ...times(at), actor: by, to: 'x', input, ...told })
    // Without an outcome there is no answer, as when the recorder died.
    if (outcome !== undefined) {
      this.lines.push({ kind: 'answer', n, ...times(at + took), outcome })
    }
  }

  /** A claim that was answered. */
  claimed({ todo = TODO_ID, seq = 1, lease = 10_000, key, ...told }: ClaimTold): void {
    const { at, took = ANSWER_MS, by = 'a', fence = seq * 10 } = told
    const given = {
      id: todo,
      title: `a delivery [${ITEM}]`,
      lease_expires_at: iso(at + lease),
      payload: told.payload ?? { item: `[${ITEM}]` },
    }
    const terms = { lease_token: tokenOf(todo, seq, by), fence, attempt_seq: seq }
    const outcome = ok({ empty: false, todo: given, ...terms })
    this.call({ at, took, by, name: 'claim_next', input: keyed(key), outcome })
  }

  /** A call of claim_next whose outcome is not a todo. */
  claimNext({ key, ...told }: Told & { outcome: Outcome; key?: string }): void {
    this.call({ ...told, name: 'claim_next', input: keyed(key) })
  }

  act(name: 'heartbeat' | 'complete' | 'fail' | 'release', told: ActTold): void {
    const { at, took = ANSWER_MS, by = 'a', seq = 1, ttl, result } = told
    const extended = { lease_expires_at: iso(at + (ttl ?? 10) * 1_000) }
    const input = {
      id: TODO_ID,
      ...(ttl === undefined ? {} : { lease_ttl_seconds: ttl }),
      ...(result === undefined ? {} : { result }),
    }
    const outcome = told.outcome ?? ok(name === 'heartbeat' ? extended : {})
    this.call({ at, took, by, name, claim: tokenOf(TODO_ID, seq, by), input, outcome })
  }

  delivered({ item = ITEM, outcome = accepted(), ...told }: ProducedTold): void {
    this.call({ ...told, name: 'webhook', item, outcome })
  }

  created({ item = ITEM, outcome = accepted(), ...told }: ProducedTold): void {
    this.call({ ...told, name: 'create_todo', item, outcome })
  }

  /** What the auditor read in the end. */
  audit(at: number, told: readonly FinalTold[], events?: number): void {
    this.lines.push({ kind: 'mark', ...times(at), mark: 'audit', note: '' })
    const by = 'auditor'
    const todos = told.map(finalTodo)
    const rows = todos.map((todo, i) => ({ ...todo, state: told[i]?.listed ?? todo.state }))
    this.call({ at, by, name: 'list_todos', outcome: ok({ todos: rows }) })
    for (const todo of todos) {
      this.call({ at, by, name: 'get_todo', input: { id: todo.id }, outcome: ok(todo) })
    }
    if (events === undefined) return
    const list = Array.from({ length: events }, (_, id) => ({ id: id + 1 }))
    this.call({ at, by, name: 'list_webhook_events', outcome: ok({ events: list }) })
  }
}
