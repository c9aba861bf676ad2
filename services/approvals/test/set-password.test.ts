import { login, setPassword } from '@guildhall/contracts'
import t from 'tap'
import { newUser, type Setup, setup, tableRows } from './setup.ts'

const FIRST = 'correct horse battery'
const SECOND = 'staple battery horse'

const set = (s: Setup, password: string, current_password?: string) =>
  s.call(
    setPassword,
    { password, ...(current_password === undefined ? {} : { current_password }) },
    { principal: s.ann },
  )

const logIn = (s: Setup, password: string) =>
  s.call(login, { proof: { username: 'ann', password }, client_address: '192.0.2.1' }, {})

t.test('a first password needs no other', async (t) => {
  const s = await setup(t)

  t.strictSame(await set(s, FIRST), { changed: true })
  t.match(await logIn(s, FIRST), { username: 'ann' })
})

t.test('a password is changed with the current one, which ends with that', async (t) => {
  const s = await setup(t)
  await set(s, FIRST)
  await set(s, SECOND, FIRST)

  t.match(await logIn(s, SECOND), { username: 'ann' })
  await t.rejects(logIn(s, FIRST), { code: 'unauthenticated' })
})

t.test('without the current password it is not changed', async (t) => {
  const s = await setup(t)
  await set(s, FIRST)

  await t.rejects(set(s, SECOND), { code: 'invalid_argument', message: /current_password/ })
  await t.rejects(set(s, SECOND, 'a wrong guess'), { code: 'forbidden' })
  t.match(await logIn(s, FIRST), { username: 'ann' })
})

t.test('a change whose answer was lost can be repeated', async (t) => {
  const s = await setup(t)
  await set(s, FIRST)

  t.strictSame(await set(s, FIRST), { changed: true })
  await set(s, SECOND, FIRST)
  t.strictSame(await set(s, SECOND, FIRST), { changed: true })
})

t.test('of two parallel changes from the same password, one wins', async (t) => {
  const s = await setup(t)
  await set(s, FIRST)
  const results = await Promise.allSettled([
    set(s, 'the new password a', FIRST),
    set(s, 'the new password b', FIRST),
  ])

  t.strictSame(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
})

t.test('the current password is guessed ten times in 15 minutes', async (t) => {
  const s = await setup(t)
  await set(s, FIRST)
  for (let i = 0; i < 10; i += 1) {
    await t.rejects(set(s, SECOND, `guess number ${i}`), { code: 'forbidden' })
  }

  await t.rejects(set(s, SECOND, FIRST), { code: 'rate_limited', retry_after_seconds: 900 })
  s.clock.advance(15 * 60_000)
  t.strictSame(await set(s, SECOND, FIRST), { changed: true })
})

t.test('a password of eleven characters is too short', async (t) => {
  const s = await setup(t)

  await t.rejects(set(s, 'elevenchars'), { code: 'invalid_argument' })
})

t.test('a password belongs to one person', async (t) => {
  const s = await setup(t)
  await newUser(s.db, s.clock, 'bob')
  await set(s, FIRST)

  t.strictSame(
    await tableRows(s.db, 'select username from users where password_hash is not null'),
    [{ username: 'ann' }],
  )
})
