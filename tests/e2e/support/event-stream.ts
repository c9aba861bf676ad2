import {
  followEvents,
  type Notification,
  type EventStream as Stream,
  waitFor,
} from '@guildhall/testing'
import { mcpHeaders } from './agent.ts'

/** The notification stream of an agent, with the rings among what came over it. */
export interface EventStream extends Stream {
  /** The ids of the todos that were rung, in order; of one queue, or of all. */
  rung(queue?: string): readonly string[]
  untilRung(todo_id: string, timeout_ms?: number): Promise<void>
}

export const CHANNEL = 'notifications/claude/channel'
export const UPDATED = 'notifications/resources/updated'
export const TOOLS_CHANGED = 'notifications/tools/list_changed'

interface ChannelParams {
  readonly content: string
  readonly meta: Readonly<Record<string, string>>
}

/** The rings among the notifications. */
export const ringsOf = (messages: readonly Notification[]): readonly ChannelParams[] =>
  messages
    .filter(({ method }) => method === CHANNEL)
    .map(({ params }) => params as unknown as ChannelParams) // the shape that D1 asserts

/** A GET, as clients up to revision 2025-11-25 attach. */
export const attach = async (url: string, token: string): Promise<EventStream> => {
  const controller = new AbortController()
  const response = await fetch(url, {
    headers: { ...mcpHeaders(token), accept: 'text/event-stream' },
    signal: controller.signal,
  })
  const stream = followEvents(response, controller)
  const rung = (queue?: string): string[] =>
    ringsOf(stream.messages)
      .filter(({ meta }) => queue === undefined || meta.queue === queue)
      .map(({ meta }) => meta.todo_id ?? '')
  return Object.assign(stream, {
    rung,
    untilRung: async (todo_id: string, timeout_ms = 10_000) => {
      await waitFor(() => rung().includes(todo_id), { timeout_ms, what: `the ring for ${todo_id}` })
    },
  })
}
