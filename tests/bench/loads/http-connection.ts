import { connect, type Socket } from 'node:net'

/**
 * A keep-alive HTTP/1.1 connection with one request at a time, straight on the socket. Node's own
 * client costs about as much per request as the fastest server under test, and would then be what
 * is measured.
 */

export interface HttpResponse {
  readonly status: number
  /** The header block, in lower case. */
  readonly head: string
  readonly body: string
}

export interface HttpConnection {
  send(request: Buffer): Promise<HttpResponse>
  close(): void
}

const HEAD_END = '\r\n\r\n'
const LAST_CHUNK = '0\r\n\r\n'

export const encodeRequest = (
  method: string,
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: string,
): Buffer => {
  const lines = [
    `${method} ${url.pathname}${url.search} HTTP/1.1`,
    `Host: ${url.host}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  return Buffer.from(`${lines.join('\r\n')}${HEAD_END}${body}`)
}

const joinChunks = (text: string): string => {
  let body = ''
  for (let at = 0; ; ) {
    const line_end = text.indexOf('\r\n', at)
    const size = Number.parseInt(text.slice(at, line_end), 16)
    if (!(size > 0)) return body
    body += text.slice(line_end + 2, line_end + 2 + size)
    at = line_end + 2 + size + 2
  }
}

/** Undefined until it is whole. One byte per character: nothing here reads what it says. */
const readResponse = (text: string): HttpResponse | undefined => {
  const head_end = text.indexOf(HEAD_END)
  if (head_end < 0) return undefined
  const head = text.slice(0, head_end).toLowerCase()
  const body = text.slice(head_end + HEAD_END.length)
  const status = Number(head.slice(9, 12))
  const length = /\r\ncontent-length: *(\d+)/.exec(head)?.[1]
  if (length !== undefined) {
    return body.length < Number(length) ? undefined : { status, head, body }
  }
  // A body of ours holds no bare CR, so this can only be the end.
  if (head.includes('\r\ntransfer-encoding: chunked')) {
    return body.endsWith(LAST_CHUNK) ? { status, head, body: joinChunks(body) } : undefined
  }
  return { status, head, body: '' }
}

const attach = (socket: Socket): HttpConnection => {
  let received = ''
  let settle: ((response: HttpResponse | Error) => void) | undefined
  socket.setNoDelay(true)
  socket.setEncoding('latin1')
  socket.on('data', (text: string) => {
    received = received === '' ? text : received + text
    const response = readResponse(received)
    if (response === undefined) return
    received = ''
    settle?.(response)
  })
  socket.on('error', (error) => settle?.(error))
  socket.on('close', () => settle?.(new Error('the server closed the connection')))
  return {
    send: (request) =>
      new Promise((resolve, reject) => {
        settle = (response) => (response instanceof Error ? reject(response) : resolve(response))
        socket.write(request)
      }),
    close: () => socket.destroy(),
  }
}

export const openHttp = (url: URL): Promise<HttpConnection> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: url.hostname, port: Number(url.port) })
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      resolve(attach(socket))
    })
  })
