import { waitFor } from '@guildhall/testing'

/** Plain HTTP, to see exactly what is on the wire. The official clients have tests of their own. */

interface PostOptions {
  readonly token?: string | undefined
  readonly headers?: Record<string, string>
}

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
}

const readBody = async (response: Response): Promise<unknown> => {
  const text = await response.text()
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

export const post = async (
  url: string,
  body: unknown,
  { token, headers = {} }: PostOptions = {},
): Promise<Answer> => {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body:
      typeof body === 'string' || body instanceof Uint8Array
        ? (body as string) // fetch takes bytes as well
        : JSON.stringify(body),
  })
  return { status: response.status, headers: response.headers, body: await readBody(response) }
}

export const request = (method: string, params: object = {}, id: number | string = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
})

const modernMeta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** A POST as revision 2026-07-28 wants it. */
export const postModern = (
  url: string,
  token: string,
  method: string,
  params: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Promise<Answer> => {
  const name = params.name ?? params.uri
  return post(url, request(method, { _meta: modernMeta, ...params }), {
    token,
    headers: {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
      ...headers,
    },
  })
}

interface ToolResult {
  readonly isError?: boolean
  readonly structuredContent?: Record<string, unknown>
  readonly content: readonly { type: string; text: string }[]
}

export const callTool = async (
  url: string,
  token: string,
  name: string,
  args: object = {},
): Promise<ToolResult> => {
  const { body } = await post(url, request('tools/call', { name, arguments: args }), { token })
  return (body as { result: ToolResult }).result // a failed call shows in the test's own assertion
}

/** The error body that a refused tool call carries as its text. */
export const toolError = (result: ToolResult): Record<string, unknown> =>
  JSON.parse(result.content[0]?.text ?? '{}')

interface Notification {
  readonly method: string
  readonly params?: Record<string, unknown>
}

export interface EventStream {
  readonly status: number
  readonly headers: Headers
  readonly messages: Notification[]
  /** Settles when the server has ended the stream. */
  readonly ended: Promise<void>
  readonly open: boolean
  until(method: string, count?: number): Promise<Notification[]>
  close(): void
}

const follow = (response: Response, controller: AbortController): EventStream => {
  const messages: Notification[] = []
  let open = true
  const pump = async (): Promise<void> => {
    const decoder = new TextDecoder()
    let rest = ''
    for await (const chunk of response.body ?? []) {
      rest += decoder.decode(chunk, { stream: true })
      const events = rest.split('\n\n')
      rest = events.pop() ?? ''
      for (const event of events) {
        const data = event.split('\n').find((line) => line.startsWith('data: '))
        if (data !== undefined) messages.push(JSON.parse(data.slice(6)))
      }
    }
  }
  const ended = pump()
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
        { what: `${count} of ${method}; got ${JSON.stringify(messages)}` },
      ),
    close: () => controller.abort(),
  }
}

/** The notification stream of the older era. */
export const openStream = async (
  url: string,
  token: string,
  headers: Record<string, string> = {},
): Promise<EventStream> => {
  const controller = new AbortController()
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream', ...headers },
    signal: controller.signal,
  })
  return follow(response, controller)
}

/** subscriptions/listen of 2026-07-28. */
export const listen = async (
  url: string,
  token: string,
  notifications: object,
  capabilities: object = {},
): Promise<EventStream> => {
  const controller = new AbortController()
  const meta = { ...modernMeta, 'io.modelcontextprotocol/clientCapabilities': capabilities }
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
    },
    body: JSON.stringify(request('subscriptions/listen', { _meta: meta, notifications }, 'sub-1')),
    signal: controller.signal,
  })
  return follow(response, controller)
}
