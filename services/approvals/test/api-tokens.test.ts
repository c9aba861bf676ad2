import { createApiToken, listApiTokens, revokeApiToken } from '@guildhall/contracts'
import t from 'tap'
import { type Setup, setup } from './setup.ts'

const create = (s: Setup, name = 'laptop', idempotency_key?: string) =>
  s.call(createApiToken, { name }, { principal: s.ann, idempotency_key })

const list = (s: Setup) => s.call(listApiTokens, {}, { principal: s.ann })

const revoke = (s: Setup, token_id: string) =>
  s.call(revokeApiToken, { token_id }, { principal: s.ann })

t.test('an API token works when the answer arrives, and is listed without itself', async (t) => {
  const s = await setup(t)
  const expires_at = '2030-02-01T00:00:00.000Z'
  const input = { name: 'laptop', expires_at }
  const { api_token, token } = await s.call(createApiToken, input, { principal: s.ann })
  const { token_id } = api_token

  t.match(token, /^gha_[A-Za-z0-9_-]{43}$/)
  t.strictSame(api_token, {
    token_id,
    name: 'laptop',
    prefix: token.slice(0, 12),
    created_at: '2030-01-01T00:00:00.000Z',
    expires_at,
  })
  t.strictSame(await list(s), { api_tokens: [api_token] })
  t.strictSame(await s.identity.credential(token), {
    v: 1,
    kind: 'api_token',
    user_id: s.ann.user_id,
    token_id,
    expires_at: Date.parse(expires_at),
    revoked: false,
  })
})

t.test('a revoked API token is dead when the answer arrives, and no longer listed', async (t) => {
  const s = await setup(t)
  const { api_token, token } = await create(s)
  const { token_id } = api_token

  t.strictSame(await revoke(s, token_id), { token_id, revoked: true })
  t.match(await s.identity.credential(token), { kind: 'api_token', revoked: true })
  t.strictSame(await list(s), { api_tokens: [] })
  t.strictSame(await revoke(s, token_id), { token_id, revoked: true })
})

t.test('a repeat with the same key gives the same token, until it is revoked', async (t) => {
  const s = await setup(t)
  const [first, repeated] = await Promise.all([
    create(s, 'laptop', 'key-1'),
    create(s, 'laptop', 'key-1'),
  ])

  t.strictSame(repeated, first)
  t.strictSame(await list(s), { api_tokens: [first.api_token] })
  await t.rejects(create(s, 'phone', 'key-1'), { code: 'idempotency_conflict' })
  await revoke(s, first.api_token.token_id)
  await t.rejects(create(s, 'laptop', 'key-1'), { code: 'conflict' })
})

t.test('50 API tokens are the most, also when the last two are made at once', async (t) => {
  const s = await setup(t)
  for (let i = 0; i < 49; i += 1) await create(s, `token ${i}`)
  const results = await Promise.allSettled([create(s), create(s)])
  const { api_tokens } = await list(s)

  t.strictSame(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  t.equal(api_tokens.length, 50)
  await t.rejects(create(s), { code: 'ceiling_exceeded' })
  await revoke(s, api_tokens[0]?.token_id ?? '')
  t.ok(await create(s))
})

t.test('an expiry in the past and a blank name are refused', async (t) => {
  const s = await setup(t)
  const expired = { name: 'laptop', expires_at: '2029-12-31T23:59:59Z' }

  await t.rejects(s.call(createApiToken, expired, { principal: s.ann }), {
    code: 'invalid_argument',
    message: /expires_at/,
  })
  await t.rejects(create(s, '\t'), { code: 'invalid_argument', message: /name/ })
})
