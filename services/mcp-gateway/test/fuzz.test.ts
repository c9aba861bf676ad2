import { connect } from 'node:net'
import t from 'tap'
import { setup } from './support/gateway.ts'
import { callTool, post, request } from './support/mcp-client.ts'

/** A fixed seed: a failure can be run again. */
const random = (seed: number) => () => {
  // mulberry32
  seed = (seed + 0x6d2b79f5) | 0
  let x = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x
  return ((x ^ (x >>> 14)) >>> 0) / 4_294_967_296
}

const good = JSON.stringify(
  request('tools/call', {
    name: 'list_todos',
    arguments: { queue: 'inbox', limit: 5 },
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  }),
)

const snippets = [
  '{',
  '}',
  '[',
  ']',
  '"',
  '\\u0000',
  '\\ud800',
  '__proto__',
  'null',
  '1e999',
  '-0',
  ',',
  ':',
]

const mutate = (next: () => number): Uint8Array => {
  const bytes = [...Buffer.from(good)]
  const changes = 1 + Math.floor(next() * 6)
  for (let i = 0; i < changes; i += 1) {
    const at = Math.floor(next() * bytes.length)
    const kind = next()
    if (kind < 0.3) bytes[at] = Math.floor(next() * 256)
    else if (kind < 0.6) bytes.splice(at, Math.floor(next() * 20))
    else {
      const snippet = snippets[Math.floor(next() * snippets.length)] ?? ''
      bytes.splice(at, 0, ...Buffer.from(snippet))
    }
  }
  return Uint8Array.from(bytes)
}

const METHODS = [
  'initialize',
  'tools/call',
  'tools/list',
  'resources/read',
  'server/discover',
  'subscriptions/listen',
  'ping',
  'constructor',
  '__proto__',
  'toString',
]

const VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e300,
  '',
  'x',
  [],
  [[]],
  {},
  { a: 1 },
  { toString: 1 },
  { constructor: null },
  'guildhall://queues/',
  'guildhall://queues/%00',
]

const KEYS = [
  'name',
  'arguments',
  'uri',
  '_meta',
  'notifications',
  'protocolVersion',
  'cursor',
  'constructor',
  'hasOwnProperty',
]

t.test('no body brings forth a 500 or stops the gateway', async (t) => {
  const f = await setup(t)
  const { token } = await f.vend()
  const next = random(7)
  const pick = <T>(values: readonly T[]): T => values[Math.floor(next() * values.length)] as T // in range
  const statuses = new Set<number>()
  const send = async (body: Uint8Array | string): Promise<void> => {
    const headers: Record<string, string> =
      next() < 0.5
        ? {}
        : {
            'mcp-protocol-version': pick(['2026-07-28', '2025-11-25', 'x']),
            'mcp-method': 'tools/call',
            'mcp-name': pick(['list_todos', '=?base64?!!?=']),
          }
    const controller = new AbortController()
    const response = await fetch(f.mcp_url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: '*/*',
        ...headers,
      },
      body,
      signal: controller.signal,
    })
    statuses.add(response.status)
    // An accepted subscription does not end by itself.
    if (response.headers.get('content-type') === 'text/event-stream') controller.abort()
    else await response.text()
  }
  for (let i = 0; i < 400; i += 1) await send(mutate(next))
  for (let i = 0; i < 400; i += 1) {
    const params = Object.fromEntries(Array.from({ length: 3 }, () => [pick(KEYS), pick(VALUES)]))
    const message = {
      jsonrpc: '2.0',
      id: pick([1, 'a', null, 1.5, {}]),
      method: pick(METHODS),
      params: pick([params, null, [], 'x']),
    }
    await send(JSON.stringify(next() < 0.1 ? [message, message] : message))
  }
  t.ok(
    [...statuses].every((status) => status < 500),
    `statuses: ${[...statuses]}`,
  )
  t.ok(statuses.has(200) && statuses.has(400), 'some were served, some refused')
  t.equal((await callTool(f.mcp_url, token, 'get_default_lease')).isError, undefined)
})

t.test('bodies made to hurt are refused as what they are', async (t) => {
  const f = await setup(t)
  const { token } = await f.vend()
  const deep = (levels: number) =>
    `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${'['.repeat(levels)}${']'.repeat(levels)}}}`
  const bodies: readonly [string, string | Uint8Array][] = [
    ['nothing', ''],
    ['nested 200,000 deep', deep(200_000)],
    ['nested 200 deep', deep(200)],
    ['no UTF-8', Uint8Array.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d])],
    ['a byte order mark', '\ufeff{}'],
    ['NaN', '{"jsonrpc":"2.0","id":NaN}'],
    ['a comment', '{}//'],
  ]
  for (const [name, body] of bodies) {
    const answer = await post(f.mcp_url, body, { token })
    t.match(answer, { status: 400, body: { id: null, error: { code: -32_700 } } }, name)
  }
  const proto =
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_todos","arguments":{"__proto__":{"limit":1}}}}'
  const { body } = await post(f.mcp_url, proto, { token })
  t.match(JSON.stringify(body), /unknown argument/)
  t.equal(Reflect.get({}, 'limit'), undefined)
})

t.test('what is no HTTP gets a 400 or a closed connection, and nothing else suffers', async (t) => {
  const f = await setup(t)
  const { token } = await f.vend()
  const { hostname, port, host } = new URL(f.mcp_url)
  const heads = [
    'GET / HTTP/9.9\r\n\r\n',
    '\u0000\u0001\u0002\r\n\r\n',
    `POST /mcp HTTP/1.1\r\nhost: ${host}\r\ncontent-length: -1\r\n\r\n`,
    `POST /mcp HTTP/1.1\r\nhost: ${host}\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n`,
    `POST /mcp HTTP/1.1\r\nhost: ${host}\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`,
    `GET /%c0%ae%c0%ae/ HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
    `GET /api/todos/%E0%A4%A HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
    `GET //evil.example/login?token=x HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
  ]
  for (const head of heads) {
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(Number(port), hostname, () => socket.write(head, 'latin1'))
      let text = ''
      socket.on('data', (chunk) => {
        text += chunk
      })
      socket.on('error', () => resolve(text))
      socket.on('close', () => resolve(text))
    })
    t.ok(
      answer === '' || /^HTTP\/1\.1 4\d\d/.test(answer),
      `${JSON.stringify(head.slice(0, 40))}: ${answer.slice(0, 40)}`,
    )
  }
  t.equal((await post(f.mcp_url, request('ping'), { token })).status, 200)
})
