import {
  encodeRequest,
  type HttpConnection,
  type HttpResponse,
  openHttp,
} from './http-connection.ts'

/** One MCP client on one connection: the same code for our gateway and for the stock server. */

const VERSION = '2025-06-18'

export interface McpConnection {
  callTool(name: string, args: object): Promise<ToolResult>
  close(): void
}

export interface ToolResult {
  readonly content: readonly { readonly type: string; readonly text: string }[]
  readonly structuredContent?: unknown
  readonly isError?: boolean
}

const DATA = 'data: '

/** The JSON of an answer that may have come as an event. */
const jsonOf = ({ head, body }: HttpResponse): string => {
  if (!head.includes('text/event-stream')) return body
  const start = body.indexOf(DATA) + DATA.length
  return body.slice(start, body.indexOf('\n', start))
}

const checked = (response: HttpResponse): HttpResponse => {
  if (response.status < 300) return response
  throw new Error(`HTTP ${response.status}: ${response.body}`)
}

const initialize = async (
  http: HttpConnection,
  url: URL,
  headers: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> => {
  const params = {
    protocolVersion: VERSION,
    capabilities: {},
    clientInfo: { name: 'bench', version: '1.0.0' },
  }
  const hello = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
  const { head } = checked(await http.send(encodeRequest('POST', url, headers, hello)))
  const session = /\r\nmcp-session-id: *([^\r]+)/.exec(head)?.[1]
  const next = {
    ...headers,
    'mcp-protocol-version': VERSION,
    ...(session === undefined ? {} : { 'mcp-session-id': session }),
  }
  const done = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
  checked(await http.send(encodeRequest('POST', url, next, done)))
  return next
}

export const openMcp = async (url: URL, bearer: string | undefined): Promise<McpConnection> => {
  const http = await openHttp(url)
  const headers = await initialize(http, url, {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
  })
  let id = 0
  return {
    callTool: async (name, args) => {
      id += 1
      const message = {
        jsonrpc: '2.0',
        id,
        method: 'tools/call',
        params: { name, arguments: args },
      }
      const request = encodeRequest('POST', url, headers, JSON.stringify(message))
      const { result, error } = JSON.parse(jsonOf(checked(await http.send(request))))
      if (error !== undefined || result.isError === true) {
        throw new Error(`${name}: ${JSON.stringify(error ?? result)}`)
      }
      return result
    },
    close: () => http.close(),
  }
}
