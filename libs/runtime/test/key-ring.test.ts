import { randomBytes } from 'node:crypto'
import t from 'tap'
import { keyNamed, newestKey, openBytes, parseKeyRing, sealBytes } from '../src/index.ts'

const key = (): string => randomBytes(32).toString('base64')

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

t.test('the first key of a ring seals, and each opens what it sealed', async (t) => {
  const ring = parseKeyRing(`k2:${key()}, k1:${key()}`)
  const [name, newest] = newestKey(ring)
  t.equal(name, 'k2')
  t.equal(keyNamed(ring, 'k2'), newest)
  t.throws(() => keyNamed(ring, 'k0'), { message: 'the key ring has no key "k0"' })
  const purpose = Buffer.from('purpose')
  const sealed = sealBytes(newest, Buffer.from('plain'), purpose)
  t.equal(openBytes(newest, sealed, purpose).toString(), 'plain')
  t.throws(() => openBytes(keyNamed(ring, 'k1'), sealed, purpose), 'another key')
  t.throws(() => openBytes(newest, sealed, Buffer.from('other')), 'another purpose')
  t.throws(() => openBytes(newest, sealed.subarray(0, 20), purpose), { message: /cut short/ })
})
