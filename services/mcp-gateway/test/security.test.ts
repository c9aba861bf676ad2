import { connect } from 'node:net'
import { credentialKey, MCP_BODY_MAX_BYTES } from '@guildhall/contracts'
import { waitFor } from '@guildhall/testing'
import t from 'tap'
import { setup } from './support/gateway.ts'
import { openStream, post, request } from './support/mcp-client.ts'

const ping = request('ping')

/** Raw HTTP, for what no client library would send. */
const raw = (url: string, head: readonly string[], body = ''): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname, () => {
      socket.write(`${[...head, 'connection: close'].join('\r\n')}\r\n\r\n${body}`)
    })
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(text))
  })

const statusOf = (answer: string): number => Number(answer.split(' ')[1])

t.test('C1 without a live credential every answer is the same 401', async (t) => {
  const f = await setup(t)
  const revoked = await f.vend()
  const expired = await f.vend({ expires_at: new Date(f.clock.now() + 1_000).toISOString() })
  const live = await f.vend()
  await f.identity.put(credentialKey(revoked.token), {
    v: 1,
    kind: 'endpoint',
    endpoint_id: revoked.endpoint.endpoint_id,
    revoked: true,
  })
  f.clock.advance(1_000)
  const tokens = [undefined, '', 'agt_unknown', revoked.token, expired.token, 'a b', 'é']
  for (const token of tokens) {
    const headers = token === undefined ? {} : { authorization: `Bearer ${encodeURI(token)}` }
    const answer = await post(f.mcp_url, ping, { headers })
    t.equal(answer.status, 401)
    t.equal(answer.headers.get('www-authenticate'), 'Bearer realm="guildhall"')
    const { request_id, ...body } = answer.body as Record<string, unknown> // the error body
    t.match(request_id, /^req_/)
    t.strictSame(body, {
      code: 'unauthenticated',
      message: 'a live credential is needed',
      what_to_do:
        'Send a live credential as "Authorization: Bearer <token>". Ask your owner for one.',
    })
  }
  for (const scheme of [`Basic ${live.token}`, `Bearer${live.token}`, `Bearer ${live.token} x`]) {
    t.equal((await post(f.mcp_url, ping, { headers: { authorization: scheme } })).status, 401)
  }
  t.equal((await openStream(f.mcp_url, revoked.token)).status, 401)
  const lower = { authorization: `bearer ${live.token}` }
  t.equal((await post(f.mcp_url, ping, { headers: lower })).status, 200)
})

t.test('C1 there are no sessions, so no session id of anybody is foreign', async (t) => {
  const f = await setup(t)
  const { token } = await f.vend()
  const headers = { 'mcp-session-id': 'of-somebody-else' }
  const answer = await post(f.mcp_url, ping, { token, headers })
  t.strictSame(answer.body, { jsonrpc: '2.0', id: 1, result: {} })
  t.equal(answer.headers.get('mcp-session-id'), null)
  const begun = await post(f.mcp_url, request('initialize', { protocolVersion: '2025-06-18' }), {
    token,
  })
  t.match(begun.body, { result: { protocolVersion: '2025-06-18' } })
  t.equal(begun.headers.get('mcp-session-id'), null)
})

t.test(
  'initialize answers with the version that was asked for, or the newest of its kind',
  async (t) => {
    const f = await setup(t)
    const { token } = await f.vend()
    const asked: readonly [unknown, string][] = [
      ['2025-11-25', '2025-11-25'],
      ['2025-03-26', '2025-03-26'],
      ['2024-11-05', '2025-11-25'],
      ['2026-07-28', '2025-11-25'],
      [undefined, '2025-11-25'],
      [{}, '2025-11-25'],
    ]
    for (const [protocolVersion, expected] of asked) {
      const { body } = await post(f.mcp_url, request('initialize', { protocolVersion }), { token })
      t.match(body, {
        result: {
          protocolVersion: expected,
          serverInfo: { name: 'guildhall' },
          capabilities: {
            tools: { listChanged: true },
            resources: { subscribe: true },
            experimental: { 'claude/channel': {} },
          },
        },
      })
    }
  },
)

t.test('each answer carries the security headers', async (t) => {
  const f = await setup(t)
  const { token } = await f.vend()
  const stream = await openStream(f.mcp_url, token)
  const answers = [
    await post(f.mcp_url, ping, { token }),
    await post(f.mcp_url, ping),
    await fetch(`${f.gateway.url}/nothing`),
    await fetch(`${f.gateway.url}/health`),
    stream,
  ]
  for (const { headers } of answers) {
    t.equal(headers.get('x-content-type-options'), 'nosniff')
    t.match(headers.get('cache-control'), 'no-store')
    t.match(headers.get('content-security-policy'), "default-src 'none'")
    t.equal(headers.get('x-frame-options'), 'DENY')
    t.equal(headers.get('referrer-policy'), 'no-referrer')
  }
})

t.test('health tells what this is, and readiness what it needs', async (t) => {
  const f = await setup(t)
  const health = await (await fetch(`${f.gateway.url}/health`)).json()
  t.match(health, { status: 'ok', transport: 'streamable-http', contract: /^[0-9a-f]{16}$/ })
  const ready = await fetch(`${f.gateway.url}/ready`)
  t.equal(ready.status, 200)
  t.strictSame(await ready.json(), {
    ready: true,
    dependencies: { bus: true, identity: true, accepting: true },
  })
  await f.nats.kill()
  await waitFor(async () => (await fetch(`${f.gateway.url}/ready`)).status === 503, {
    what: 'readiness to see that the bus is gone',
  })
  t.equal((await fetch(`${f.gateway.url}/health`)).status, 200)
  await f.nats.restart()
})

t.test('other hosts, other origins and doubled headers are refused', async (t) => {
  const f = await setup(t, { ALLOWED_ORIGINS: 'https://app.example' })
  const { token } = await f.vend()
  const { host } = new URL(f.mcp_url)
  const send = (...lines: string[]) =>
    raw(f.mcp_url, ['DELETE /mcp HTTP/1.1', ...lines, `authorization: Bearer ${token}`])
  t.equal(statusOf(await send(`host: ${host}`)), 405)
  t.equal(statusOf(await send('host: evil.example')), 403)
  t.equal(statusOf(await send(`host: ${host}`, 'origin: https://evil.example')), 403)
  t.equal(statusOf(await send(`host: ${host}`, 'origin: null')), 403)
  t.equal(statusOf(await send(`host: ${host}`, 'origin: https://app.example')), 405)
  t.equal(statusOf(await send(`host: ${host}`, `origin: http://${host}`)), 405)
  t.equal(statusOf(await send(`host: ${host}`, 'authorization: Bearer other')), 400)
  t.equal(statusOf(await send(`host: ${host}`, 'host: 127.0.0.1')), 400)
  t.equal(statusOf(await send()), 400)
  const headers = { origin: 'https://app.example' }
  const preflight = await fetch(f.mcp_url, { method: 'OPTIONS', headers })
  t.equal(preflight.status, 204)
  t.equal(preflight.headers.get('access-control-allow-origin'), 'https://app.example')
  t.match(preflight.headers.get('access-control-allow-headers'), 'authorization')
  const foreign = { origin: 'https://evil.example' }
  t.equal((await fetch(f.mcp_url, { method: 'OPTIONS', headers: foreign })).status, 403)
  const answer = await post(f.mcp_url, ping, { token, headers })
  t.equal(answer.headers.get('access-control-allow-origin'), 'https://app.example')
})

t.test('a body must be JSON, of the right size, and its answer acceptable', async (t) => {
  const f = await setup(t)
  const { token } = await f.vend()
  const big = { ...ping, params: { filler: 'x'.repeat(MCP_BODY_MAX_BYTES) } }
  t.match(await post(f.mcp_url, big, { token }), {
    status: 413,
    body: { code: 'payload_too_large', message: /1048576/ },
  })
  t.equal((await post(f.mcp_url, big)).status, 401, 'a stranger learns of no limit')
  const types: readonly [string, number][] = [
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['application/jsonp', 415],
    ['application/json; charset=utf-8', 200],
  ]
  for (const [type, status] of types) {
    const answer = await post(f.mcp_url, ping, { token, headers: { 'content-type': type } })
    t.equal(answer.status, status, type)
  }
  const accepts: readonly [string, number][] = [
    ['application/json', 406],
    ['text/event-stream', 406],
    ['text/html', 406],
    ['text/event-stream, application/json;q=0.5', 200],
    ['*/*', 200],
  ]
  for (const [accept, status] of accepts) {
    t.equal((await post(f.mcp_url, ping, { token, headers: { accept } })).status, status, accept)
  }
  const get = await openStream(f.mcp_url, token, { accept: 'application/json' })
  t.equal(get.status, 406)
})

t.test(
  'methods that mean nothing here are refused, and a newer client is told to POST',
  async (t) => {
    const f = await setup(t)
    const { token } = await f.vend()
    const authorization = `Bearer ${token}`
    for (const method of ['DELETE', 'PUT', 'PATCH']) {
      const answer = await fetch(f.mcp_url, { method, headers: { authorization } })
      t.equal(answer.status, 405)
      t.equal(answer.headers.get('allow'), 'GET, POST')
    }
    const modern = await openStream(f.mcp_url, token, { 'mcp-protocol-version': '2026-07-28' })
    t.equal(modern.status, 405)
  },
)

t.test('a credential works only from the networks it is bound to', async (t) => {
  const f = await setup(t, { TRUSTED_PROXIES: '127.0.0.0/8' })
  const { token } = await f.vend({ allowed_cidrs: ['203.0.113.0/24', '2001:db8::/32'] })
  const from = async (address: string): Promise<number> =>
    (await post(f.mcp_url, ping, { token, headers: { 'x-forwarded-for': address } })).status
  await waitFor(async () => (await from('203.0.113.9')) === 200, { what: 'the credential' })
  t.equal(await from('2001:db8::5'), 200)
  t.equal(await from('198.51.100.1'), 403)
  t.equal(await from('203.0.113.9, 198.51.100.1'), 403, 'what the client claims does not count')
  t.equal((await post(f.mcp_url, ping, { token })).status, 403)
})

t.test('an endpoint has its own rate, and batches count as what they hold', async (t) => {
  const f = await setup(t)
  const { token } = await f.vend({ rate_limit: { per_second: 0.001, burst: 10 } })
  // Waiting for the credential took one.
  const batch = Array.from({ length: 6 }, (_, i) => request('ping', {}, i))
  t.equal((await post(f.mcp_url, batch, { token })).status, 200)
  for (let i = 0; i < 3; i += 1) t.equal((await post(f.mcp_url, ping, { token })).status, 200)
  const refused = await post(f.mcp_url, ping, { token })
  t.match(refused, { status: 429, body: { code: 'rate_limited' } })
  t.ok(Number(refused.headers.get('retry-after')) > 0)
  const other = await f.vend()
  t.equal((await post(f.mcp_url, ping, { token: other.token })).status, 200)
})

t.test('guessing is slowed down per address, and does not lock out who is known', async (t) => {
  const f = await setup(t, {
    ADDRESS_RATE_PER_SECOND: '0.001',
    ADDRESS_RATE_BURST: '20',
    TRUSTED_PROXIES: '127.0.0.0/8',
  })
  const { token } = await f.vend()
  const guess = async (address: string): Promise<number> => {
    const headers = { 'x-forwarded-for': address }
    return (await post(f.mcp_url, ping, { token: 'agt_guessed-wrong', headers })).status
  }
  const statuses: number[] = []
  for (let i = 0; i < 22; i += 1) statuses.push(await guess('203.0.113.9'))
  t.strictSame(statuses, [...Array(20).fill(401), 429, 429])
  t.equal(await guess('203.0.113.10'), 401)
  const known = { token, headers: { 'x-forwarded-for': '203.0.113.9' } }
  t.equal((await post(f.mcp_url, ping, known)).status, 200)
})
