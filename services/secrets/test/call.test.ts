import { setTimeout as delay } from 'node:timers/promises'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import {
  type AgentPrincipal,
  callWithSecret,
  listSecrets,
  revokeSecret,
} from '@guildhall/contracts'
import t, { type Test } from 'tap'
import { CALL_RATE } from '../src/limits.ts'
import { embeddings, encodingsOf } from './encodings.ts'
import { databaseText, refusal, setup } from './setup.ts'
import { HOST, startTlsHost } from './tls-host.ts'

const VALUE = 'sk_live-4eC39HqLyjWD/rjtT1zdp7+dc=="&<'
const HEADER = { authorization: 'Bearer {{TOKEN}}' }

const started = async (t: Test, env = {}) => {
  const host = await startTlsHost(t)
  const s = await setup(t, { env: { ...host.env, ...env } })
  const agent = await s.agent(s.owner, 42)
  await s.set('agent', 42, 'TOKEN', VALUE, [HOST])
  const call = (more = {}, principal: AgentPrincipal = agent, idempotency_key?: string) =>
    s.call(
      callWithSecret,
      { secret: 'token', method: 'GET', url: host.url('/v1'), headers: HEADER, ...more },
      principal,
      idempotency_key,
    )
  return { ...s, host, callHost: call }
}

t.test('the secret is put into header, query and body, and nowhere else', async (t) => {
  const s = await started(t)
  s.host.answer((_request, response) => {
    response.setHeader('x-answer', 'yes')
    response.statusCode = 201
    response.end('{"done":true}')
  })
  const answer = await s.callHost({
    method: 'POST',
    url: s.host.url('/v1/send?key={{TOKEN}}&other=%20x#part'),
    headers: { Authorization: 'Bearer {{token}}', 'Content-Type': 'application/json' },
    body: '{"k":"{{TOKEN}}","t":"{{OTHER}} $& $1"}',
  })
  t.match(answer, {
    status: 201,
    headers: { 'x-answer': 'yes' },
    body: '{"done":true}',
    body_encoding: 'utf8',
    truncated: false,
  })
  const [seen, ...more] = s.host.seen
  t.strictSame(more, [])
  t.equal(seen?.method, 'POST')
  t.equal(seen?.url, `/v1/send?key=${encodeURIComponent(VALUE)}&other=%20x`)
  t.equal(seen?.body, `{"k":"${VALUE}","t":"{{OTHER}} $& $1"}`)
  t.match(seen?.headers, {
    host: `${HOST}:${s.host.port}`,
    authorization: `Bearer ${VALUE}`,
    'content-type': 'application/json',
    'user-agent': 'guildhall',
  })
  const { secrets } = await s.call(listSecrets, { scope_type: 'agent', scope_id: 42 }, s.owner)
  t.equal(secrets[0]?.last_used_at, new Date(s.clock.now()).toISOString())
})

t.test('whatever a host makes of the secret, the agent does not get it', async (t) => {
  const s = await started(t)
  const forms = Object.values(encodingsOf(VALUE)).flat()
  const look = (text: string, what: string): void => {
    const left = forms.find((form) => form.length >= 8 && text.includes(form))
    t.equal(left, undefined, what)
  }
  const texts = embeddings(VALUE, 'before', 'after')
  t.ok(texts.length < CALL_RATE.burst, 'one agent may make so many calls at once')
  for (const [index, text] of texts.entries()) {
    s.host.answer(async (_request, response) => {
      response.setHeader('x-echo', text.replace(/[\r\n]/g, '').replace(/[^ -~]/g, '?'))
      // In pieces that cut through it.
      for (let at = 0; at < text.length; at += 7) {
        response.write(text.slice(at, at + 7))
        if (at % 21 === 0) await delay(1)
      }
      response.end()
    })
    const answer = await s.callHost()
    look(JSON.stringify(answer), `embedding ${index}`)
    t.match(answer.body, /\[secret TOKEN\]/)
    t.match(answer.headers['x-echo'], /\[secret TOKEN\]/)
  }
  look(s.log_lines.join('\n'), 'the log')
  look(await databaseText(s.db), 'the database')
})

t.test('packed answers are unpacked first, in each packing', async (t) => {
  const s = await started(t)
  const plain = `{"echo":"${'x'.repeat(500)}","auth":"Bearer ${VALUE}"}`
  const packings: readonly [string, Buffer][] = [
    ['gzip', gzipSync(plain)],
    ['x-gzip', gzipSync(plain)],
    ['deflate', deflateSync(plain)],
    ['deflate', deflateRawSync(plain)],
    ['br', brotliCompressSync(plain)],
  ]
  for (const [encoding, bytes] of packings) {
    s.host.answer((_request, response) => {
      response.setHeader('content-encoding', encoding)
      response.end(bytes)
    })
    const answer = await s.callHost()
    t.equal(answer.body, plain.replace(VALUE, '[secret TOKEN]'), encoding)
    t.notOk('content-encoding' in answer.headers)
    t.notOk('content-length' in answer.headers, 'which would tell the length of the secret')
  }
  for (const [encoding, bytes] of [
    ['gzip', Buffer.from(`not gzip ${VALUE}`)],
    ['zstd', Buffer.from(VALUE)],
    ['gzip, gzip', gzipSync(gzipSync(plain))],
  ] as const) {
    s.host.answer((_request, response) => {
      response.setHeader('content-encoding', encoding)
      response.end(bytes)
    })
    t.match(await s.callHost(), { body: /^\[not shown: /, truncated: true }, encoding)
  }
})

t.test('bytes that are no text come as base64, searched all the same', async (t) => {
  const s = await started(t)
  s.host.answer((_request, response) => {
    response.end(Buffer.concat([Buffer.from([0xff, 0xfe, 0]), Buffer.from(`<${VALUE}>`)]))
  })
  const answer = await s.callHost()
  t.equal(answer.body_encoding, 'base64')
  const bytes = Buffer.from(answer.body, 'base64')
  t.equal(bytes.subarray(3).toString(), '<[secret TOKEN]>')
})

t.test('a long answer is cut, and never through the secret', async (t) => {
  const s = await started(t)
  const starts = [15_990, 15_999, 63_990, 64_300, 64_400, 1_048_560]
  for (const start of starts) {
    s.host.answer((_request, response) => {
      response.write('é'.repeat(10) + 'a'.repeat(start - 10))
      response.end(`${VALUE}${'b'.repeat(10)}`)
    })
    const answer = await s.callHost()
    t.equal(answer.truncated, true)
    t.ok(answer.body.length <= 16_000)
    t.notMatch(answer.body, VALUE.slice(0, 4), `at ${start}`)
  }
})

t.test('cookies and other credentials of the connection are kept back', async (t) => {
  const s = await started(t)
  s.host.answer((_request, response) => {
    response.setHeader('set-cookie', ['session=abc', 'b=c'])
    response.setHeader('x-twice', ['a', 'b'])
    response.end('ok')
  })
  const { headers } = await s.callHost()
  t.notOk('set-cookie' in headers)
  t.equal(headers['x-twice'], 'a, b')
})

t.test('a secret that is revoked, of another scope, or not there is not found', async (t) => {
  const s = await started(t)
  const missing = { code: 'not_found', message: 'no secret NOPE is available to you' }
  const nope = { secret: 'nope', headers: { a: '{{NOPE}}' } }
  t.match(await refusal(s.callHost(nope)), missing)
  const other = await s.agent(s.owner, 43)
  t.match(await refusal(s.callHost({}, other)), { code: 'not_found' })
  await s.call(revokeSecret, { scope_type: 'agent', scope_id: 42, name: 'TOKEN' }, s.owner)
  t.match(await refusal(s.callHost()), { code: 'not_found' })
  t.strictSame(s.host.seen, [])
})

t.test("a task's own secret comes first, for whoever holds the task", async (t) => {
  const s = await started(t)
  await s.task(s.owner, 7)
  await s.set('task', 7, 'TOKEN', 'value-of-the-task', [HOST])
  t.match(await refusal(s.callHost({ task_id: 7 })), {
    code: 'forbidden',
    details: { error: 'ErrMissingTaskContext' },
  })
  await s.claim(await s.agent(s.owner, 42), 7)
  await s.callHost({ task_id: 7 })
  t.equal(s.host.seen[0]?.headers.authorization, 'Bearer value-of-the-task')
  const used = async (scope_type: 'agent' | 'task', scope_id: number) =>
    (await s.call(listSecrets, { scope_type, scope_id }, s.owner)).secrets[0]?.last_used_at
  t.type(await used('task', 7), 'string')
  t.equal(await used('agent', 42), null)
})

t.test('an agent in quarantine makes no call, and a busy one waits', async (t) => {
  const s = await started(t)
  const agent = await s.agent(s.owner, 42)
  await s.quarantine(agent, true)
  t.match(await refusal(s.callHost()), {
    code: 'forbidden',
    details: { error: 'ErrAgentQuarantined' },
  })
  await s.quarantine(agent, false)
  const calls = Array.from({ length: CALL_RATE.burst + 5 }, () =>
    s.callHost().then(
      () => 'answered',
      (error) => error.code,
    ),
  )
  const outcomes = await Promise.all(calls)
  t.ok(outcomes.includes('rate_limited'))
  t.ok(outcomes.filter((outcome) => outcome === 'answered').length >= CALL_RATE.burst)
  t.equal(s.host.seen.length, outcomes.filter((outcome) => outcome === 'answered').length)
})

t.test('a call with an idempotency key is made once', async (t) => {
  const s = await started(t)
  s.host.answer(
    (request, response) =>
      void response.end(`${s.host.seen.length} ${request.headers.authorization}`),
  )
  const agent = await s.agent(s.owner, 42)
  const keyed = (key: string, more = {}) => s.callHost(more, agent, key)
  const first = await keyed('key-1')
  t.equal(first.body, '1 Bearer [secret TOKEN]')
  t.strictSame(await keyed('key-1'), first)
  t.equal(s.host.seen.length, 1)
  t.match(await refusal(keyed('key-1', { body: 'other' })), { code: 'idempotency_conflict' })
  const other = await s.agent(s.owner, 43)
  await s.set('agent', 43, 'TOKEN', 'another-value', [HOST])
  t.equal((await s.callHost({}, other, 'key-1')).body, '2 Bearer [secret TOKEN]', 'keys are own')
  s.clock.advance(25 * 3_600_000)
  t.equal((await keyed('key-1')).body, '3 Bearer [secret TOKEN]', 'a day later it is a new call')
})

t.test('a call whose outcome nobody knows is not made again', async (t) => {
  const s = await started(t, { SECRETS_CALL_TIMEOUT_MS: '2000' })
  const agent = await s.agent(s.owner, 42)
  const keyed = () => s.callHost({}, agent, 'key-1')
  s.host.answer(() => undefined)
  const error = await refusal(keyed())
  t.match(error, { code: 'deadline_exceeded' })
  s.host.answer((_request, response) => void response.end('late'))
  t.match(await refusal(keyed()), { code: 'deadline_exceeded' })
  t.equal(s.host.seen.length, 1)
})

t.test('a repeat while the first is under way is told so, not made', async (t) => {
  const s = await started(t)
  const agent = await s.agent(s.owner, 42)
  let release: (() => void) | undefined
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const arrived = new Promise<void>((resolve) => {
    s.host.answer(async (_request, response) => {
      resolve()
      await held
      response.end('done')
    })
  })
  const first = s.callHost({}, agent, 'key-1')
  await arrived
  t.match(await refusal(s.callHost({}, agent, 'key-1')), { code: 'deadline_exceeded' })
  release?.()
  t.equal((await first).body, 'done')
  t.equal((await s.callHost({}, agent, 'key-1')).body, 'done')
  t.equal(s.host.seen.length, 1)
})

t.test('a call that never left frees its key', async (t) => {
  const s = await started(t)
  const agent = await s.agent(s.owner, 42)
  await s.set('agent', 42, 'TOKEN', VALUE, ['elsewhere.example.test'])
  t.match(await refusal(s.callHost({}, agent, 'key-1')), { code: 'forbidden' })
  await s.set('agent', 42, 'TOKEN', VALUE, [HOST])
  t.equal((await s.callHost({}, agent, 'key-1')).body, 'ok')
})
