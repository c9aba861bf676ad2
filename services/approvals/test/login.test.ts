import { type InputOf, login, setPassword } from '@guildhall/contracts'
import t from 'tap'
import { newLoginLink } from '../src/first-owner.ts'
import { newUser, refusal, type Setup, setup, tableRows } from './setup.ts'

const PASSWORD = 'correct horse battery'
const QUARTER_MS = 15 * 60_000

const loginWith = (
  s: Setup,
  proof: InputOf<typeof login>['proof'],
  { client_address = '192.0.2.1', key }: { client_address?: string; key?: string } = {},
) => s.call(login, { proof, client_address }, { idempotency_key: key })

const newLink = async (s: Setup): Promise<{ login_token: string }> => {
  const link = await newLoginLink(s.db, 'ann', new Date(s.clock.now()))
  if (link === undefined) throw new Error('ann is unknown')
  return { login_token: link.login_token }
}

const annAs = (s: Setup) => ({
  user_id: s.ann.user_id,
  username: 'ann',
  created_at: '2030-01-01T00:00:00.000Z',
})

const withPassword = async (t: Parameters<typeof setup>[0]): Promise<Setup> => {
  const s = await setup(t)
  await s.call(setPassword, { password: PASSWORD }, { principal: s.ann })
  return s
}

t.test('a login link works once', async (t) => {
  const s = await setup(t)
  const link = await newLink(s)

  t.strictSame(await loginWith(s, link), annAs(s))
  await t.rejects(loginWith(s, link), { code: 'unauthenticated' })
})

t.test('of two parallel redemptions of one login link, one wins', async (t) => {
  const s = await setup(t)
  const link = await newLink(s)
  const results = await Promise.allSettled(
    Array.from({ length: 6 }, (_, i) => loginWith(s, link, { key: `key-${i}` })),
  )
  const won = results.filter(({ status }) => status === 'fulfilled')

  t.equal(won.length, 1)
})

t.test(
  'a login whose answer was lost can be repeated, within a minute and by nobody else',
  async (t) => {
    const s = await setup(t)
    const link = await newLink(s)
    await loginWith(s, link, { key: 'key-1' })

    t.strictSame(await loginWith(s, link, { key: 'key-1' }), annAs(s))
    await t.rejects(loginWith(s, link, { key: 'key-2' }), { code: 'unauthenticated' })
    s.clock.advance(60_000)
    await t.rejects(loginWith(s, link, { key: 'key-1' }), { code: 'unauthenticated' })
  },
)

t.test('a login link works for 15 minutes', async (t) => {
  const s = await setup(t)
  const [early, late] = [await newLink(s), await newLink(s)]
  s.clock.advance(QUARTER_MS - 1)
  await loginWith(s, early)
  s.clock.advance(1)

  await t.rejects(loginWith(s, late), { code: 'unauthenticated' })
})

t.test('name and password log in', async (t) => {
  const s = await withPassword(t)

  t.strictSame(await loginWith(s, { username: 'ann', password: PASSWORD }), annAs(s))
})

t.test('whatever is wrong with a login, the answer is the same', async (t) => {
  const s = await withPassword(t)
  await newUser(s.db, s.clock, 'bob') // has no password
  const proofs = [
    { username: 'ann', password: 'wrong' },
    { username: 'bob', password: PASSWORD },
    { username: 'carol', password: PASSWORD },
    { username: 'ann\u0000', password: PASSWORD },
    { login_token: 'unknown' },
    { login_token: '\u0000' },
  ]
  const refusals: object[] = []
  for (const proof of proofs) refusals.push(await refusal(loginWith(s, proof)))

  t.match(refusals[0], { code: 'unauthenticated' })
  t.strictSame(
    refusals,
    proofs.map(() => refusals[0]),
  )
})

t.test('a password is guessed ten times in 15 minutes, over all addresses', async (t) => {
  const s = await withPassword(t)
  for (let i = 0; i < 10; i += 1) {
    const guess = { username: 'ann', password: `guess ${i}` }
    await t.rejects(loginWith(s, guess, { client_address: `192.0.2.${i}` }), {
      code: 'unauthenticated',
    })
  }
  s.clock.advance(QUARTER_MS - 30_000)
  const right = { username: 'ann', password: PASSWORD }

  await t.rejects(loginWith(s, right), { code: 'rate_limited', retry_after_seconds: 30 })
  t.strictSame(await loginWith(s, await newLink(s)), annAs(s), 'a link still works')
  s.clock.advance(30_000)
  t.strictSame(await loginWith(s, right), annAs(s))
})

t.test('guesses in parallel do not slip past the limit', async (t) => {
  const s = await withPassword(t)
  const codes = await Promise.all(
    Array.from({ length: 25 }, async (_, i) => {
      const refused = await refusal(loginWith(s, { username: 'ann', password: `guess ${i}` }))
      return 'code' in refused ? refused.code : undefined
    }),
  )

  t.strictSame(codes.sort(), [
    ...Array.from({ length: 15 }, () => 'rate_limited'),
    ...Array.from({ length: 10 }, () => 'unauthenticated'),
  ])
})

t.test('one address is limited over all names, and an IPv6 network is one address', async (t) => {
  const s = await setup(t)
  const guess = (client_address: string) => loginWith(s, { login_token: 'x' }, { client_address })
  for (let i = 0; i < 50; i += 1) {
    await t.rejects(guess(`2001:db8:0:1::${i.toString(16)}`), { code: 'unauthenticated' })
  }

  await t.rejects(guess('2001:db8:0:1:ffff::1'), { code: 'rate_limited', retry_after_seconds: 900 })
  await t.rejects(guess('2001:db8:0:2::1'), { code: 'unauthenticated' })
})

t.test('logins that succeed do not count', async (t) => {
  const s = await setup(t)
  for (let i = 0; i < 60; i += 1) await loginWith(s, await newLink(s))

  t.strictSame(await tableRows(s.db, 'select attempts from login_attempts'), [{ attempts: 0 }])
})

t.test('logins and refused logins are in the audit log, without what was typed', async (t) => {
  const s = await setup(t)
  await loginWith(s, await newLink(s))
  await refusal(loginWith(s, { username: 'my password by mistake', password: 'ann' }))
  const logged = await tableRows(
    s.db,
    `select user_id, actor, action, object, details from audit_log
     where action like 'login.%' order by audit_id`,
  )

  t.strictSame(logged, [
    {
      user_id: s.ann.user_id,
      actor: `human:${s.ann.user_id}`,
      action: 'login.succeeded',
      object: `user:${s.ann.user_id}`,
      details: { method: 'link', client_address: '192.0.2.1' },
    },
    {
      user_id: null,
      actor: 'anonymous',
      action: 'login.denied',
      object: 'unknown',
      details: { method: 'password', client_address: '192.0.2.1' },
    },
  ])
})

t.test('there is no login link for somebody unknown', async (t) => {
  const s = await setup(t)

  t.equal(await newLoginLink(s.db, 'nobody', new Date(s.clock.now())), undefined)
  t.strictSame(await tableRows(s.db, 'select user_id from login_links'), [])
})
