import { type EventStream, followEvents } from '@guildhall/testing'

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
  return followEvents(response, controller)
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
  return followEvents(response, controller)
}
