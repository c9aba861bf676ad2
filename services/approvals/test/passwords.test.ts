import { scryptSync } from 'node:crypto'
import { ServiceError } from '@guildhall/contracts'
import t from 'tap'
import { createPasswords } from '../src/passwords.ts'

const PASSWORD = 'correct horse battery'

t.test('the same letters in another composition are the same password', async (t) => {
  const passwords = createPasswords()
  const stored = await passwords.hash('caf\u00e9 au lait, please')

  t.equal(await passwords.verify('cafe\u0301 au lait, please', stored), true)
})

t.test('a hash states its cost: scrypt with 32 MiB, three times', async (t) => {
  const stored = await createPasswords().hash(PASSWORD)

  t.match(stored, /^scrypt\$N=32768,r=8,p=3\$[A-Za-z0-9+/]{22}==\$[A-Za-z0-9+/]{43}=$/)
})

t.test('two hashes of one password differ', async (t) => {
  const passwords = createPasswords()

  t.not(await passwords.hash(PASSWORD), await passwords.hash(PASSWORD))
})

t.test('the cost that stands in a hash is the one it is checked with', async (t) => {
  const passwords = createPasswords()
  // N=1024, r=8, p=1: computed with another tool's parameters, as after a change of ours.
  const hash = scryptSync(PASSWORD, Buffer.alloc(16, 7), 32, { N: 1_024, r: 8, p: 1 })
  const salt = Buffer.alloc(16, 7).toString('base64')
  const stored = `scrypt$N=1024,r=8,p=1$${salt}$${hash.toString('base64')}`

  t.equal(await passwords.verify(PASSWORD, stored), true)
  t.equal(await passwords.verify('another', stored), false)
})

t.test('a check for nobody fails, and takes the time of a real one', async (t) => {
  const passwords = createPasswords()
  const stored = await passwords.hash(PASSWORD)
  const timed = async (of: string | undefined): Promise<number> => {
    const started = performance.now()
    t.equal(await passwords.verify('wrong', of), false)
    return performance.now() - started
  }
  await timed(stored)
  const real_ms = await timed(stored)

  t.ok((await timed(undefined)) > real_ms / 4)
})

t.test('of a flood of checks most are told to come back', async (t) => {
  const passwords = createPasswords()
  const results = await Promise.allSettled(
    Array.from({ length: 30 }, () => passwords.verify('wrong', undefined)),
  )
  const refused = results.filter((result) => result.status === 'rejected')

  t.strictSame(
    refused.map(({ reason }) => reason instanceof ServiceError && reason.code),
    Array.from({ length: 20 }, () => 'unavailable'),
  )
})
