import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { parseKeyRing } from '@guildhall/runtime'
import t from 'tap'
import { bodyBudget, readBody } from '../src/http/read-body.ts'
import { payloadPage } from '../src/payload-page.ts'
import { sanitizeHeaders } from '../src/sanitize-headers.ts'
import { createSealer } from '../src/sealing.ts'

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
