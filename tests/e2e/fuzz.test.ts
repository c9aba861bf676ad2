import {
  claimNext,
  createTodo,
  createWebhook,
  INGEST_TOKEN_BODY_MAX_BYTES,
  MCP_BODY_MAX_BYTES,
} from '@guildhall/contracts'
import t, { type Test } from 'tap'
import { type GarbageRequest, garbageApi, garbageDelivery, garbageMcp } from './support/garbage.ts'
import { type Answer, send } from './support/http.ts'
import { firstOwner, secondOwner } from './support/owner.ts'
import { randomFrom } from './support/random.ts'
import { speak, statusesIn } from './support/raw-socket.ts'
import { logLines, runningSystem } from './support/running-system.ts'
import { accepted } from './support/webhook.ts'

/** Whatever is sent: no 500, no process ends, and the next caller is served as ever. */

const REQUESTS = 400
const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31)
t.comment(`FUZZ_SEED=${seed} repeats this run`)

// Throttles would hide what is behind them.
const system = await runningSystem(t)
const owner = firstOwner(system)
const [mcp_url = '', ingest_url = ''] = [system.mcp_urls[0], system.ingest_urls[0]]
const gateway = new URL(mcp_url).origin
const agent = await owner.vend({ queues: ['inbox', 'fuzzed'], webhook_max: 5 })
const generic = await agent.call(createWebhook, { source_type: 'generic', target_queue: 'fuzzed' })
const signed = await agent.call(createWebhook, { source_type: 'github', target_queue: 'fuzzed' })

const pids = (): number[] =>
  Object.values(system.services)
    .flat()
    .map(({ pid, running }) => (running ? pid : -1))
const born = pids()

/** After the garbage, a normal day. */
const stillWell = async (t: Test): Promise<void> => {
  t.strictSame(pids(), born, 'no process died')
  const bad = logLines(system).filter((line) => /unhandled|uncaught|TypeError/i.test(line))
  t.strictSame(bad, [], 'nothing was left unhandled')
  const { id } = await agent.call(createTodo, { queue: 'inbox', title: 'a normal call' })
  t.match(await agent.call(claimNext, { queue: 'inbox' }), { todo: { id } })
  t.match(await owner.rest('GET', '/me'), { status: 200 })
  const posted = await send(generic.ingest_url, { method: 'POST', body: `{"at": ${Date.now()}}` })
  t.match(accepted(posted), { created: 1 })
}

const isFine = ({ status, text }: Answer): boolean =>
  status >= 200 && status < 500 && !/"code":"internal"/.test(text)

const fuzz = async (
  t: Test,
  origin: string,
  make: (random: ReturnType<typeof randomFrom>) => GarbageRequest,
): Promise<void> => {
  const failed: string[] = []
  const counts = new Map<number, number>()
  const once = async (turn: number): Promise<void> => {
    const { method, path, headers, body } = make(randomFrom(seed + turn))
    const answer = await send(`${origin}${path}`, { method, headers, body })
    counts.set(answer.status, (counts.get(answer.status) ?? 0) + 1)
    if (isFine(answer)) return
    const asked = `${method} ${path} ${JSON.stringify(headers)} ${body?.toString('latin1').slice(0, 500)}`
    failed.push(
      `FUZZ_SEED=${seed + turn}: ${answer.status} ${answer.text.slice(0, 300)} to ${asked}`,
    )
  }
  for (let turn = 0; turn < REQUESTS; turn += 8) {
    await Promise.all(Array.from({ length: 8 }, (_, i) => once(turn + i)))
  }
  t.comment(`answers: ${JSON.stringify(Object.fromEntries([...counts].sort()))}`)
  t.strictSame(failed, [], 'no answer is a 500')
  await stillWell(t)
}

t.test('random JSON-RPC at /mcp', (t) =>
  fuzz(t, gateway, (random) => garbageMcp(random, agent.token)),
)

t.test('random requests at /api', async (t) => {
  // Each person has a limit, which would answer most of them.
  const people = [
    owner,
    await secondOwner(system, 'ann'),
    await secondOwner(system, 'bob'),
  ] as const
  await fuzz(t, gateway, (random) => garbageApi(random, random.pick(people).api_token))
})

t.test('random deliveries at /webhooks', (t) =>
  fuzz(t, ingest_url, (random) => {
    const path = new URL((random.chance(0.5) ? generic : signed).ingest_url).pathname
    return garbageDelivery(random, path)
  }),
)

t.test('A4 a body over its limit is refused with 413, known URL or not', async (t) => {
  const json = { authorization: `Bearer ${agent.token}`, 'content-type': 'application/json' }
  const rpc = await send(mcp_url, {
    method: 'POST',
    headers: { ...json, accept: 'application/json, text/event-stream' },
    body: ' '.repeat(MCP_BODY_MAX_BYTES + 1),
  })
  t.match(rpc, { status: 413, body: { code: 'payload_too_large' } })
  const large = Buffer.alloc(INGEST_TOKEN_BODY_MAX_BYTES + 1, 'x')
  for (const url of [generic.ingest_url, `${ingest_url}/webhooks/w/${'0'.repeat(32)}`]) {
    const answer = await send(url, { method: 'POST', body: large })
    t.match(answer, { status: 413, body: { code: 'payload_too_large' } })
  }
  await stillWell(t)
})

const authorization = (token: string): string => `authorization: Bearer ${token}`
const crlf = (...lines: readonly string[]): string => lines.join('\r\n')
const chunked = 'transfer-encoding: chunked'

/** Requests that no HTTP library would write. Each ends so that the server must close or answer. */
const rawRequests = (host: string, path: string, token: string): readonly (string | Buffer)[] => {
  const start = (method = 'POST') => crlf(`${method} ${path} HTTP/1.1`, `host: ${host}`)
  const bearer = authorization(token)
  const json = 'content-type: application/json'
  const closing = 'connection: close'
  return [
    crlf(
      start(),
      bearer,
      'authorization: Bearer other',
      json,
      closing,
      'content-length: 2',
      '',
      '{}',
    ),
    crlf(start(), bearer, 'content-length: 2', 'content-length: 3', '', '{}'),
    crlf(start(), bearer, json, chunked, 'content-length: 5', '', '0', '', ''),
    crlf(start(), bearer, json, chunked, closing, '', 'ZZ', '{}', '0', '', ''),
    crlf(start(), bearer, json, chunked, closing, '', 'ffffffffffffffff', '{}', ''),
    crlf(`POST ${path} HTTP/1.1`, bearer, closing, '', ''),
    crlf(`POST ${path} HTTP/1.1`, `host: ${host}`, 'host: evil.example', bearer, closing, '', ''),
    crlf(`POST ${path} HTTP/9.9`, `host: ${host}`, '', ''),
    crlf(`GET ${path}\u0000 HTTP/1.1`, `host: ${host}`, '', ''),
    crlf(start('BREW'), closing, '', ''),
    crlf(`POST http://evil.example${path} HTTP/1.1`, 'host: evil.example', closing, '', ''),
    crlf(start(), `x: ${'y'.repeat(100_000)}`, '', ''),
    crlf(start(), ...Array.from({ length: 3_000 }, (_, i) => `x-${i}: y`), closing, '', ''),
    crlf(start(), 'x y: z', '', ''),
    crlf(start('CONNECT'), 'upgrade: websocket', 'connection: upgrade', '', ''),
    crlf(start(), 'expect: 100-continue', bearer, json, closing, 'content-length: 2', '', '{}'),
    Buffer.from('160301020001000001fc0303', 'hex'),
    randomFrom(seed).bytes(2_000),
  ]
}

const ANSWERED = /^HTTP\/1\.1 [2-5]\d\d [\s\S]*\r\n\r\n/

t.test('raw sockets: repeated headers, broken framing, no HTTP at all', async (t) => {
  const doors = [
    [gateway, '/mcp', agent.token],
    [gateway, '/api/todos', owner.api_token],
    [gateway, '/login', ''],
    [ingest_url, new URL(generic.ingest_url).pathname, ''],
  ] as const
  for (const [origin, path, token] of doors) {
    const requests = rawRequests(new URL(origin).host, path, token)
    // A server that waits for more is let go once it has answered.
    const heard = await Promise.all(requests.map((bytes) => speak(origin, bytes, ANSWERED)))
    const statuses = heard.flatMap(statusesIn)
    t.comment(`${path}: ${statuses.join(' ')}`)
    t.strictSame(
      statuses.filter((status) => status >= 500),
      [],
      `${path}: no 5xx`,
    )
  }
  const [twice = ''] = rawRequests(new URL(gateway).host, '/mcp', agent.token)
  t.match(
    await speak(gateway, twice),
    /^HTTP\/1\.1 400 [\s\S]*"invalid_argument"/,
    'two credentials',
  )
  await stillWell(t)
})

t.test(
  'pipelined requests are answered in turn, and garbage after them harms nobody',
  async (t) => {
    const host = new URL(gateway).host
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
    const ping = (...more: readonly string[]): string =>
      crlf(
        'POST /mcp HTTP/1.1',
        `host: ${host}`,
        authorization(agent.token),
        'content-type: application/json',
        'accept: application/json, text/event-stream',
        `content-length: ${body.length}`,
        ...more,
        '',
        body,
      )
    const answered = await speak(gateway, `${ping().repeat(4)}${ping('connection: close')}`)
    t.strictSame(statusesIn(answered), [200, 200, 200, 200, 200])
    const broken = await speak(gateway, `${ping().repeat(4)}garbage\r\n\r\n`)
    t.ok(
      statusesIn(broken).every((status) => status === 200 || status === 400),
      broken,
    )
    await stillWell(t)
  },
)
