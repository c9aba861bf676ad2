import { type IdentityCredential, revokeEndpoint, rotateEndpoint } from '@guildhall/contracts'
import t from 'tap'
import { MCP_URL, type Setup, setup, tableRows } from './setup.ts'

const rotate = (s: Setup, endpoint_id: string, idempotency_key?: string) =>
  s.call(rotateEndpoint, { endpoint_id }, { principal: s.ann, idempotency_key })

const isRevoked = (credential: IdentityCredential | undefined) => credential?.revoked

t.test('a rotation replaces the credential, and the old one is dead when it answers', async (t) => {
  const s = await setup(t)
  const { endpoint, token: old } = await s.vend()
  const { endpoint_id } = endpoint
  const { token, ...answer } = await rotate(s, endpoint_id)
  const rotated = { ...endpoint, credential_prefix: token.slice(0, 12), version: 2 }

  t.strictSame(answer, { endpoint: rotated, mcp_url: MCP_URL })
  t.not(token, old)
  t.strictSame(await s.identity.credential(old), {
    v: 1,
    kind: 'endpoint',
    endpoint_id,
    revoked: true,
  })
  t.strictSame(await s.identity.credential(token), {
    v: 1,
    kind: 'endpoint',
    endpoint_id,
    revoked: false,
  })
  t.strictSame(await s.identity.endpoint(endpoint_id), rotated)
})

t.test('parallel rotations leave exactly one credential that works', async (t) => {
  const s = await setup(t)
  const { endpoint, token } = await s.vend()
  const rotated = await Promise.all(
    Array.from({ length: 10 }, () => rotate(s, endpoint.endpoint_id)),
  )
  const newest = rotated.find((answer) => answer.endpoint.version === 11)
  const tokens = [token, ...rotated.map((answer) => answer.token)]
  const credentials = await Promise.all(tokens.map(s.identity.credential))

  t.strictSame(
    tokens.filter((_, i) => isRevoked(credentials[i]) === false),
    [newest?.token],
  )
  t.strictSame(
    await tableRows(s.db, 'select count(*) as live from credentials where revoked_at is null'),
    [{ live: 1 }],
  )
})

t.test('a repeat of a rotation shows the same token, until it is replaced', async (t) => {
  const s = await setup(t)
  const { endpoint } = await s.vend()
  const { endpoint_id } = endpoint
  const [first, repeated] = await Promise.all([
    rotate(s, endpoint_id, 'key-1'),
    rotate(s, endpoint_id, 'key-1'),
  ])
  await rotate(s, endpoint_id)

  t.strictSame(repeated, first)
  await t.rejects(rotate(s, endpoint_id, 'key-1'), { code: 'conflict' })
})

t.test('the token of a vend cannot be had again once it was rotated', async (t) => {
  const s = await setup(t)
  const { endpoint } = await s.vend({}, 'key-1')
  await rotate(s, endpoint.endpoint_id)

  await t.rejects(s.vend({}, 'key-1'), { code: 'conflict' })
})

t.test('the same key a day later is a new rotation with a new token', async (t) => {
  const s = await setup(t)
  const { endpoint } = await s.vend()
  const first = await rotate(s, endpoint.endpoint_id, 'key-1')
  s.clock.advance(86_400_000)
  const second = await rotate(s, endpoint.endpoint_id, 'key-1')

  t.not(second.token, first.token)
  t.equal(second.endpoint.version, 3)
})

t.test('a revoked endpoint cannot be rotated back to life', async (t) => {
  const s = await setup(t)
  const { endpoint } = await s.vend()
  const { endpoint_id } = endpoint
  await s.call(revokeEndpoint, { endpoint_id }, { principal: s.ann })

  await t.rejects(rotate(s, endpoint_id), { code: 'conflict' })
})
