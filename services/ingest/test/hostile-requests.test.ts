import { createHash } from 'node:crypto'
import { connect } from 'node:net'
import { SourceType } from '@guildhall/contracts'
import { waitFor } from '@guildhall/testing'
import t from 'tap'
import { deliveriesOf, hubHeaders, type Setup, setup } from './setup.ts'

/** Sends bytes as they are and reads until the other side is done. */
const raw = (port: number, ...parts: (string | Uint8Array)[]): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    const chunks: Buffer[] = []
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')))
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET' || error.code === 'EPIPE') return
      reject(error)
    })
    for (const part of parts) socket.write(part)
  })

const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1])

/** Bytes that look random and are the same in every run, so that a failure can be repeated. */
const noise = (seed: number, length: number): Buffer => {
  const blocks: Buffer[] = []
  for (let n = 0; n * 32 < length; n += 1) {
    blocks.push(createHash('sha256').update(`${seed}/${n}`).digest())
  }
  return Buffer.concat(blocks).subarray(0, length)
}

const pathOf = (ingest_url: string): string => new URL(ingest_url).pathname

const request = (path: string, headers: readonly string[], body: Uint8Array) => [
  [
    `POST ${path} HTTP/1.1`,
    'host: x',
    'connection: close',
    `content-length: ${body.length}`,
    ...headers,
    '',
    '',
  ].join('\r\n'),
  body,
]

const CONTENT_TYPES = [
  'application/json',
  'application/json; charset=utf-8',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'text/plain; charset=nonsense',
  'nonsense',
  '///;;;===',
  '',
  'application/json, application/json',
  'ä/ö',
]

const setupAll = async (s: Setup): Promise<string[]> => {
  const urls: string[] = []
  for (const source of SourceType.options) {
    const issued = {
      stripe: 'whsec_0123456789',
      slack: '0123456789abcdef',
      linear: 'lin_wh_0123456789',
    }
    const secret = Object.entries(issued).find(([name]) => name === source)?.[1]
    const more = secret === undefined ? {} : { signing_secret: secret }
    urls.push((await s.create(s.owner, source, more)).ingest_url)
  }
  return urls
}

t.test('no body, header or content type makes a 500', async (t) => {
  const s = await setup(t)
  const urls = await setupAll(s)
  const bodies = [
    Buffer.alloc(0),
    Buffer.from('null'),
    Buffer.from('[]'),
    Buffer.from('"text"'),
    Buffer.from('{"id":{},"type":[],"event_id":1,"webhookTimestamp":"x","action":null}'),
    Buffer.from('{"__proto__":{"id":1},"constructor":1,"repository":{"full_name":{}}}'),
    Buffer.from(`${'['.repeat(100_000)}`),
    Buffer.from('{"issue":{"number":1,"title":"\\ud800\\u0000\\uffff"}}'),
    Buffer.from('payload=%ff%fe%zz&payload'),
    ...Array.from({ length: 6 }, (_, seed) => noise(seed, 50 * seed + 3)),
  ]
  const statuses = new Map<number, number>()
  for (const [index, url] of urls.entries()) {
    for (const [n, body] of bodies.entries()) {
      const type = CONTENT_TYPES[(n + index) % CONTENT_TYPES.length]
      // Every byte that HTTP lets into a header; the others are refused before us.
      const junk = noise(n * 31 + index, 60)
        .toString('latin1')
        .replace(/[^\x20-\x7e\x80-\xff]/g, '')
      const headers = [
        `content-type: ${type}`,
        `x-hub-signature-256: sha256=${junk}`,
        `stripe-signature: t=${junk},v1=${junk}`,
        `webhook-id: ${junk}`,
        `webhook-timestamp: ${junk}`,
        `webhook-signature: ${junk}`,
        `x-slack-signature: v0=${junk}`,
        'x-slack-request-timestamp: 99999999999999999999',
        `linear-signature: ${junk}`,
        `x-gitlab-token: ${junk}`,
        `x-forwarded-for: ${junk}`,
        `x-github-event: ${junk}`,
      ]
      const [head = '', payload = ''] = request(pathOf(url), headers, body)
      const status = statusOf(await raw(s.port, Buffer.from(String(head), 'latin1'), payload))
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }
  const seen = [...statuses.keys()].sort()
  t.strictSame(
    seen.filter((status) => ![202, 400, 401].includes(status)),
    [],
  )
  t.ok((statuses.get(202) ?? 0) > 0, 'some were accepted')
  t.ok((statuses.get(401) ?? 0) > 0, 'some were refused')
})

t.test('a signed body of any bytes and content type is kept as it came', async (t) => {
  const s = await setup(t)
  const { ingest_url, signing_secret = '' } = await s.create(s.owner, 'github')
  const bodies = CONTENT_TYPES.map((_, n) => noise(n, 100 * n))
  for (const [n, type] of CONTENT_TYPES.entries()) {
    const body = bodies[n] ?? Buffer.alloc(0)
    const lines = Object.entries(hubHeaders(signing_secret, body)).map((pair) => pair.join(': '))
    const [head = '', payload = ''] = request(
      pathOf(ingest_url),
      [`content-type: ${type}`, ...lines],
      body,
    )
    const answer = await raw(s.port, Buffer.from(String(head), 'latin1'), payload)
    t.equal(statusOf(answer), 202, `"${type}"`)
  }
  const stored = await deliveriesOf(s.bus, s.owner.user_id)
  t.strictSame(
    stored.map(({ data }) => data.toString('hex')),
    bodies.map((body) => body.toString('hex')),
  )
  t.strictSame(
    stored.map(({ meta }) => meta.content_type),
    CONTENT_TYPES,
  )
  await waitFor(
    async () => (await s.db('webhook_events').where({ owner_id: s.owner.user_id })).length === 10,
    { what: 'all of them in the history' },
  )
})

t.test('a repeated signature header is refused, other repeats are joined', async (t) => {
  const s = await setup(t)
  const { ingest_url, signing_secret = '' } = await s.create(s.owner, 'github')
  const body = Buffer.from('{}')
  const signature = `x-hub-signature-256: ${hubHeaders(signing_secret, body)['x-hub-signature-256']}`
  const send = async (...lines: string[]) => {
    const [head = '', payload = ''] = request(pathOf(ingest_url), lines, body)
    return statusOf(await raw(s.port, head, payload))
  }
  t.equal(await send(signature, signature), 401)
  t.equal(await send(signature, 'x-a: 1', 'x-a: 2', 'content-type: a/b', 'content-type: c/d'), 202)
  const [delivery] = await deliveriesOf(s.bus, s.owner.user_id)
  t.equal(delivery?.meta.headers['x-a'], '1, 2')
})

t.test('headers beyond measure are refused; many are stored within measure', async (t) => {
  const s = await setup(t)
  const { ingest_url } = await s.create(s.owner, 'generic')
  const send = async (line: string) => {
    const [head = '', payload = ''] = request(pathOf(ingest_url), [line], Buffer.from('{}'))
    return statusOf(await raw(s.port, Buffer.from(String(head), 'latin1'), payload))
  }
  t.equal(await send(`x-long: ${'a'.repeat(20_000)}`), 431)
  t.equal(await send(`x-long: ${'ÿ'.repeat(15_000)}`), 202)
  const [delivery] = await deliveriesOf(s.bus, s.owner.user_id)
  t.equal(delivery?.meta.headers['x-long'], 'ÿ'.repeat(2_048))
})

t.test('broken requests are answered 400 or cut off, and hold no memory', async (t) => {
  const s = await setup(t)
  const { ingest_url } = await s.create(s.owner, 'generic')
  const path = pathOf(ingest_url)
  t.equal(statusOf(await raw(s.port, 'nonsense\r\n\r\n')), 400)
  const two = `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx`
  t.equal(statusOf(await raw(s.port, two)), 400)
  const chunked = `POST ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n`
  t.equal(statusOf(await raw(s.port, `${chunked}2\r\n{}\r\n0\r\n\r\n`)), 202, 'chunked')
  t.equal(statusOf(await raw(s.port, `${chunked}zz\r\n`)), 400, 'a bad chunk')
  const socket = connect(s.port, '127.0.0.1')
  socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhalf`)
  await waitFor(() => socket.bytesWritten > 0, { what: 'the half request to be sent' })
  socket.destroy()
  t.equal((await s.post(ingest_url, '{"after":1}')).status, 202)
  t.equal((await deliveriesOf(s.bus, s.owner.user_id)).length, 2)
})

t.test('other paths and methods are 404 and tell nothing', async (t) => {
  const s = await setup(t)
  const { ingest_url } = await s.create(s.owner, 'generic')
  const path = pathOf(ingest_url)
  const tries = [
    `GET ${path}`,
    `PUT ${path}`,
    `POST ${path}/x`,
    'POST /webhooks/w/',
    'POST /webhooks/w/..%2f..%2fetc',
    'POST /webhooks/w/%00',
    'GET /metrics',
    'GET /',
  ]
  for (const line of tries) {
    const answer = await raw(
      s.port,
      `${line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`,
    )
    t.equal(statusOf(answer), 404, line.slice(0, 40))
  }
  t.equal((await s.post(`http://public.test/webhooks/w/${'a'.repeat(5_000)}`, '')).status, 414)
  const bad = await raw(
    s.port,
    'POST /webhooks/w/%ff HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n',
  )
  t.equal(statusOf(bad), 400)
  t.strictSame(await deliveriesOf(s.bus, s.owner.user_id), [])
})

t.test('bodies share a bounded memory, which senders that vanish give back', async (t) => {
  const s = await setup(t, { env: { BODY_BUFFER_MAX_BYTES: '33554432' } })
  const { ingest_url } = await s.create(s.owner, 'github')
  const path = pathOf(ingest_url)
  const size = 20 * 1_048_576
  const socket = connect(s.port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: ${size + 1}\r\n\r\n`)
  await new Promise<void>((resolve) => socket.write(Buffer.alloc(size), () => resolve()))
  const other = Buffer.alloc(size)
  const refused = await s.post(ingest_url, other)
  t.strictSame([refused.status, refused.body.code], [503, 'unavailable'])
  socket.destroy()
  await waitFor(async () => (await s.post(ingest_url, other)).status === 401, {
    what: 'the memory to be free again',
  })
})
