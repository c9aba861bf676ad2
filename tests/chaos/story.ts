import type { Line, Outcome } from './history.ts'

/** Histories written by hand, to see what the checker makes of them. Times in ms from the start. */

const START = Date.parse('2026-01-01T00:00:00Z')

const ANSWER_MS = 10

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

export interface FinalTold {
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

export interface Story {
  readonly lines: Line[]
  call(told: CallTold): void
  /** A claim that was answered. */
  claimed(told: ClaimTold): void
  /** A call of claim_next whose outcome is not a todo. */
  claimNext(told: Told & { outcome: Outcome; key?: string }): void
  act(name: 'heartbeat' | 'complete' | 'fail' | 'release', told: ActTold): void
  delivered(told: Told & { item?: string; outcome?: Outcome }): void
  created(told: Told & { item?: string; outcome?: Outcome }): void
  audit(at: number, todos: readonly FinalTold[], events?: number): void
}

export const TODO = 'td-1'
export const ITEM = 'w-1'

export const accepted = (id = TODO, created = 1): Outcome => ok({ id, created })

const finalTodo = (told: FinalTold) => {
  const total = told.total ?? 1
  const shown = told.attempts ?? Array.from({ length: total }, (_, i) => total - i)
  const attempt = told.attempt ?? total
  return {
    id: told.id ?? TODO,
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

export const story = (): Story => {
  const lines: Line[] = []
  let calls = 0
  const times = (t: number) => ({ t, wall: START + t })

  const call: Story['call'] = ({
    at,
    took = ANSWER_MS,
    by = 'a',
    outcome,
    input = {},
    ...told
  }) => {
    calls += 1
    lines.push({ kind: 'call', n: calls, ...times(at), actor: by, to: 'x', input, ...told })
    // Without an outcome there is no answer, as when the recorder died.
    if (outcome === undefined) return
    lines.push({ kind: 'answer', n: calls, ...times(at + took), outcome })
  }

  const claimed: Story['claimed'] = (told) => {
    const { todo = TODO, seq = 1, fence = seq * 10, lease = 10_000, key, payload } = told
    call({
      ...{ at: told.at, took: told.took ?? ANSWER_MS, by: told.by ?? 'a' },
      name: 'claim_next',
      input: key === undefined ? {} : { idempotency_key: key },
      outcome: ok({
        empty: false,
        todo: {
          id: todo,
          title: `a delivery [${ITEM}]`,
          lease_expires_at: iso(told.at + lease),
          payload: payload ?? { item: `[${ITEM}]` },
        },
        lease_token: `token-${todo}-${seq}-${told.by ?? 'a'}`,
        fence,
        attempt_seq: seq,
      }),
    })
  }

  const act: Story['act'] = (name, { at, took, by = 'a', seq = 1, outcome, ttl, result }) => {
    const until = iso(at + (ttl ?? 10) * 1_000)
    call({
      at,
      by,
      name,
      ...(took === undefined ? {} : { took }),
      claim: `token-${TODO}-${seq}-${by}`,
      input: {
        id: TODO,
        ...(ttl === undefined ? {} : { lease_ttl_seconds: ttl }),
        ...(result === undefined ? {} : { result }),
      },
      outcome: outcome ?? ok(name === 'heartbeat' ? { lease_expires_at: until } : {}),
    })
  }

  return {
    lines,
    call,
    claimed,
    act,
    claimNext: ({ key, ...told }) =>
      call({
        ...told,
        name: 'claim_next',
        input: key === undefined ? {} : { idempotency_key: key },
      }),
    delivered: ({ item = ITEM, outcome = accepted(), ...told }) =>
      call({ ...told, name: 'webhook', item, outcome }),
    created: ({ item = ITEM, outcome = accepted(), ...told }) =>
      call({ ...told, name: 'create_todo', item, outcome }),
    audit: (at, told, events) => {
      lines.push({ kind: 'mark', ...times(at), mark: 'audit', note: '' })
      const todos = told.map(finalTodo)
      const rows = todos.map((todo, i) => ({ ...todo, state: told[i]?.listed ?? todo.state }))
      call({ at, by: 'auditor', name: 'list_todos', outcome: ok({ todos: rows }) })
      for (const todo of todos) {
        call({ at, by: 'auditor', name: 'get_todo', input: { id: todo.id }, outcome: ok(todo) })
      }
      if (events === undefined) return
      const list = Array.from({ length: events }, (_, id) => ({ id: id + 1 }))
      call({ at, by: 'auditor', name: 'list_webhook_events', outcome: ok({ events: list }) })
    },
  }
}
