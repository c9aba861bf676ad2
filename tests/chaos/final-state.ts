import { z } from 'zod'
import { type Call, isOk } from './calls.ts'
import type { Line } from './history.ts'

/** What the auditor read when all was over: every todo, as listed and by itself. */

const Row = z.object({
  id: z.string(),
  title: z.string(),
  state: z.string(),
  attempt: z.int(),
  max_attempts: z.int(),
  dead_letter: z.boolean(),
})

const Page = z.object({ todos: z.array(Row), next_cursor: z.string().optional() })

const Todo = z.object({
  ...Row.shape,
  result: z.unknown(),
  attempts: z.array(z.object({ seq: z.int(), outcome: z.string().nullable() })),
  attempts_total: z.int(),
  attempts_pruned: z.int(),
})
export type FinalTodo = z.infer<typeof Todo>

const EventPage = z.object({
  events: z.array(z.object({ id: z.int() })),
  next_cursor: z.string().optional(),
})

export interface FinalState {
  readonly listed: ReadonlyMap<string, z.infer<typeof Row>>
  readonly todos: ReadonlyMap<string, FinalTodo>
  /** Deliveries in the history of events; undefined: was not read. */
  readonly events: number | undefined
  /** What could not be read. */
  readonly missing: readonly string[]
}

export const AUDITOR = 'auditor'

/** The pages that begin with the last call without a cursor, up to the one without a next. */
const lastListing = <T extends { next_cursor?: string | undefined }>(
  calls: readonly Call[],
  name: string,
  schema: z.ZodType<T>,
): T[] | undefined => {
  const pages: T[] = []
  let complete = false
  for (const call of calls.filter((one) => one.name === name)) {
    if (call.outcome.kind !== 'ok') continue
    if (call.input.cursor === undefined) pages.splice(0)
    const page = schema.parse(call.outcome.value)
    pages.push(page)
    complete = page.next_cursor === undefined
  }
  return complete ? pages : undefined
}

/** Undefined: there was no audit. */
export const readFinalState = (
  lines: readonly Line[],
  calls: readonly Call[],
): FinalState | undefined => {
  const begin = lines.findLastIndex((line) => line.kind === 'mark' && line.mark === 'audit')
  if (begin === -1) return undefined
  const since = new Set(
    lines.slice(begin).flatMap((line) => (line.kind === 'call' ? [line.n] : [])),
  )
  const audit = calls.filter((call) => call.actor === AUDITOR && since.has(call.n))
  const pages = lastListing(audit, 'list_todos', Page)
  const event_pages = lastListing(audit, 'list_webhook_events', EventPage)
  const listed = new Map((pages ?? []).flatMap((page) => page.todos).map((row) => [row.id, row]))
  const todos = new Map<string, FinalTodo>()
  for (const call of audit) {
    if (call.name !== 'get_todo' || !isOk(call) || call.outcome.kind !== 'ok') continue
    const todo = Todo.parse(call.outcome.value)
    todos.set(todo.id, todo)
  }
  return {
    listed,
    todos,
    events: event_pages?.reduce((sum, page) => sum + page.events.length, 0),
    missing: [
      ...(pages === undefined ? ['the list of todos'] : []),
      ...[...listed.keys()].filter((id) => !todos.has(id)),
    ],
  }
}
