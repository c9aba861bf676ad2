import { waitFor } from '@guildhall/testing'
import { mcpHeaders } from './agent.ts'

/** The notification stream of an agent: server-sent events, read as they come. */

export interface Notification {
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
}

export interface EventStream {
  readonly status: number
  readonly messages: readonly Notification[]
  readonly open: boolean
  /** The ids of the todos that were rung, in order; of one queue, or of all. */
  rung(queue?: string): readonly string[]
  until(method: string, count?: number): Promise<readonly Notification[]>
  untilRung(todo_id: string, timeout_ms?: number): Promise<void>
  close(): void
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

const follow = (response: Response, abort: () => void): EventStream => {
  const messages: Notification[] = []
  let open = true
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder()
    let rest = ''
    for await (const chunk of response.body ?? []) {
      rest += decoder.decode(chunk, { stream: true })
      const events = rest.split('\n\n')
      rest = events.pop() ?? ''
      for (const event of events) {
        const data = event.split('\n').find((line) => line.startsWith('data: '))
        if (data !== undefined) messages.push(JSON.parse(data.slice('data: '.length)))
      }
    }
  }
  // An aborted stream ends with an error, which is no news.
  read()
    .catch(() => undefined)
    .finally(() => {
      open = false
    })
  const rung = (queue?: string): string[] =>
    ringsOf(messages)
      .filter(({ meta }) => queue === undefined || meta.queue === queue)
      .map(({ meta }) => meta.todo_id ?? '')
  return {
    status: response.status,
    messages,
    get open() {
      return open
    },
    rung,
    until: (method, count = 1) =>
      waitFor(
        () => {
          const found = messages.filter((message) => message.method === method)
          return found.length >= count ? found : undefined
        },
        { what: `${count} of ${method} among ${JSON.stringify(messages)}` },
      ),
    untilRung: async (todo_id, timeout_ms = 10_000) => {
      await waitFor(() => rung().includes(todo_id), { timeout_ms, what: `the ring for ${todo_id}` })
    },
    close: abort,
  }
}

/** A GET, as clients up to revision 2025-11-25 attach. */
export const attach = async (url: string, token: string): Promise<EventStream> => {
  const controller = new AbortController()
  const response = await fetch(url, {
    headers: { ...mcpHeaders(token), accept: 'text/event-stream' },
    signal: controller.signal,
  })
  return follow(response, () => controller.abort())
}
