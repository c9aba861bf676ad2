import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { ManualClock } from '@guildhall/testing'
import t from 'tap'
import { clientAddress, parseCidr, rateKey } from '../src/client-address.ts'
import { bodyBudget, readBody } from '../src/http/read-body.ts'
import { payloadPage } from '../src/payload-page.ts'
import { sanitizeHeaders } from '../src/sanitize-headers.ts'
import { createSealer, parseKeyRing } from '../src/sealing.ts'
import { tokenBuckets } from '../src/token-buckets.ts'

t.test('A10 credentials in headers are replaced, the rest stays', async (t) => {
  t.strictSame(
    sanitizeHeaders({
      authorization: 'Bearer x',
      cookie: 'sid=1',
      'x-hub-signature-256': 'sha256=00',
      'x-custom-token': 'abc',
      'x-apikey': 'abc',
      'x-github-delivery': 'guid-1',
      'user-agent': 'GitHub-Hookshot/1',
      referer: 'https://me:pw@host/webhooks/w/0123456789abcdef?a=1&token=abc&b=2',
      'x-original-uri': '/webhooks/w/0123456789abcdef',
    }),
    {
      authorization: '«redacted»',
      cookie: '«redacted»',
      'x-hub-signature-256': '«redacted»',
      'x-custom-token': '«redacted»',
      'x-apikey': '«redacted»',
      'x-github-delivery': 'guid-1',
      'user-agent': 'GitHub-Hookshot/1',
      referer: 'https://«redacted»@host/webhooks/w/«redacted»?a=1&token=«redacted»&b=2',
      'x-original-uri': '/webhooks/w/«redacted»',
    },
  )
})

t.test('headers too many to store are counted', async (t) => {
  const many = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`x-${i}`, 'ÿ'.repeat(300)]))
  const kept = sanitizeHeaders(many)
  const omitted = Number(kept['x-guildhall-omitted-headers'])
  t.ok(omitted > 0)
  t.equal(Object.keys(kept).length - 1 + omitted, 40)
})

t.test('X-Forwarded-For is believed only from trusted proxies, from the right', async (t) => {
  const trusted = ['10.0.0.0/8', '127.0.0.1', 'fd00::/8'].map(parseCidr)
  const rows: [string | undefined, string | undefined, string][] = [
    ['203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['127.0.0.1', undefined, '127.0.0.1'],
    ['127.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['::ffff:127.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['127.0.0.1', '6.6.6.6, 198.51.100.1, 10.1.2.3', '198.51.100.1'],
    ['127.0.0.1', '6.6.6.6, garbage, 10.1.2.3', '10.1.2.3'],
    ['127.0.0.1', '10.9.9.9', '10.9.9.9'],
    ['fd00::1', '2001:db8::7', '2001:db8::7'],
    [undefined, '198.51.100.1', 'unknown'],
  ]
  for (const [socket, forwarded, expected] of rows) {
    t.equal(clientAddress(socket, forwarded, trusted), expected, `${socket} ${forwarded}`)
  }
  t.equal(rateKey('2001:db8:1:2:3:4:5:6'), rateKey('2001:db8:1:2:9::'))
  t.not(rateKey('2001:db8:1:2::'), rateKey('2001:db8:1:3::'))
  t.not(rateKey('198.51.100.1'), rateKey('198.51.100.2'))
})

t.test('a bucket lets its burst through, then its rate, and tells how long to wait', async (t) => {
  const clock = new ManualClock()
  const buckets = tokenBuckets({ per_second: 2, burst: 3 }, clock)
  t.strictSame(
    [1, 2, 3, 4].map(() => buckets.take('a')),
    [undefined, undefined, undefined, 1],
  )
  t.equal(buckets.take('b'), undefined, 'another key has its own')
  clock.advance(500)
  t.strictSame([buckets.take('a'), buckets.take('a')], [undefined, 1])
  clock.advance(-3_600_000)
  t.equal(buckets.take('a'), 1, 'a clock that jumps back gives nothing')
  clock.advance(1_000)
  t.equal(buckets.take('a'), undefined, '... and takes nothing away')
})

t.test('buckets forget the least recently used', async (t) => {
  const buckets = tokenBuckets({ per_second: 0.001, burst: 1 }, new ManualClock(), 2)
  buckets.take('a')
  buckets.take('b')
  buckets.take('a')
  buckets.take('c')
  t.equal(buckets.take('b'), undefined, 'b was forgotten')
  t.not(buckets.take('c'), undefined, 'c was not')
})

const key = (): string => randomBytes(32).toString('base64')
const context = { id: 'wh_1', purpose: 'signing_secret' } as const

t.test('a sealed value opens under its key and for its purpose only', async (t) => {
  const [k0, k1] = [key(), key()]
  const old = createSealer(parseKeyRing(`k0:${k0}`))
  const both = createSealer(parseKeyRing(`k1:${k1},k0:${k0}`))
  const sealed = old.seal('geheim ✓', context)
  t.equal(both.open(sealed, context), 'geheim ✓', 'an older key still opens')
  t.equal(both.seal('x', context).key_id, 'k1', 'the first key seals')
  t.throws(() => both.open(sealed, { ...context, id: 'wh_2' }), 'moved to another webhook')
  t.throws(() => both.open(sealed, { ...context, purpose: 'url_token' }), 'another purpose')
  t.throws(() => old.open(both.seal('x', context), context), { message: /no key "k1"/ })
  const bytes = Buffer.from(sealed.data, 'base64')
  bytes.writeUInt8(bytes.readUInt8(14) ^ 1, 14)
  t.throws(() => old.open({ ...sealed, data: bytes.toString('base64') }, context), 'changed')
  t.throws(() => old.open({ ...sealed, data: 'AAAA' }, context), { message: /cut short/ })
  t.not(old.seal('x', context).data, old.seal('x', context).data, 'no two alike')
})

t.test('a malformed key ring is refused without being repeated', async (t) => {
  const good = key()
  for (const ring of [
    '',
    'k1',
    `k1:${good.slice(2)}`,
    `:${good}`,
    `k1:${good},k1:${good}`,
    'plain',
  ]) {
    t.throws(() => parseKeyRing(ring), { message: /^key \d of the ring/ }, ring)
  }
  try {
    parseKeyRing(`k1:${good.slice(4)}`)
  } catch (error) {
    t.notMatch(String(error), good.slice(4, 20))
  }
})

t.test('a page of a body is text where it can be, and no character is cut', async (t) => {
  const body = Buffer.from('aé€😀z')
  const pages: unknown[] = []
  for (let offset: number | null = 0; offset !== null; ) {
    const page = payloadPage(body.subarray(offset, offset + 4), offset, body.length)
    pages.push(page)
    offset = page.next_payload_offset
  }
  t.strictSame(pages, [
    { payload: 'aé', payload_encoding: 'utf8', next_payload_offset: 3 },
    { payload: '€', payload_encoding: 'utf8', next_payload_offset: 6 },
    { payload: '😀', payload_encoding: 'utf8', next_payload_offset: 10 },
    { payload: 'z', payload_encoding: 'utf8', next_payload_offset: null },
  ])
  const binary = Buffer.from([0xff, 0x00, 0x80])
  t.strictSame(payloadPage(binary, 0, 3), {
    payload: '/wCA',
    payload_encoding: 'base64',
    next_payload_offset: null,
  })
})

t.test('bodies are read within their own limit and the shared one', async (t) => {
  const budget = bodyBudget(10)
  const read = (text: string, limit = 8) =>
    readBody(Readable.from([Buffer.from(text)]), limit, budget)
  const body = await read('12345678')
  t.equal(body.bytes.toString(), '12345678')
  await t.rejects(read('123'), { code: 'unavailable' }, 'no room beside the first')
  body.release()
  body.release()
  await t.rejects(read('123456789'), { code: 'payload_too_large' })
  t.equal((await read('1234567890', 10)).bytes.length, 10, 'what was refused holds no room')
})
