import { waitFor } from './wait-for.ts'

/** A stream of server-sent JSON-RPC notifications, as a test sees it: read as they come. */

export interface Notification {
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
}

export interface EventStream {
  readonly status: number
  readonly headers: Headers
  readonly messages: readonly Notification[]
  /** Settles when the server has ended the stream, or it was closed here. */
  readonly ended: Promise<void>
  readonly open: boolean
  /** The first answer with `count` notifications of a method. */
  until(method: string, count?: number): Promise<readonly Notification[]>
  close(): void
}

const DATA = 'data: '

const readInto = async (messages: Notification[], response: Response): Promise<void> => {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of response.body ?? []) {
    rest += decoder.decode(chunk, { stream: true })
    const events = rest.split('\n\n')
    rest = events.pop() ?? ''
    for (const event of events) {
      const data = event.split('\n').find((line) => line.startsWith(DATA))
      if (data !== undefined) messages.push(JSON.parse(data.slice(DATA.length)))
    }
  }
}

export const followEvents = (response: Response, controller: AbortController): EventStream => {
  const messages: Notification[] = []
  let open = true
  const ended = readInto(messages, response)
    // An aborted stream ends with an error, which is no news.
    .catch(() => undefined)
    .finally(() => {
      open = false
    })
  return {
    status: response.status,
    headers: response.headers,
    messages,
    ended,
    get open() {
      return open
    },
    until: (method, count = 1) =>
      waitFor(
        () => {
          const found = messages.filter((message) => message.method === method)
          return found.length >= count ? found : undefined
        },
        { what: `${count} of ${method} among ${JSON.stringify(messages)}` },
      ),
    close: () => controller.abort(),
  }
}
