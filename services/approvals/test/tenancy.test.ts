import {
  createApiToken,
  editEndpoint,
  getMe,
  listApiTokens,
  listEndpoints,
  revokeApiToken,
  revokeEndpoint,
  rotateEndpoint,
  setDefaultLease,
} from '@guildhall/contracts'
import t from 'tap'
import { agentOf, human, newUser, refusal, setup, tableRows } from './setup.ts'

const UNKNOWN_ENDPOINT = 'ep_01ARZ3NDEKTSV4RRFFQ69G5FAV'
const UNKNOWN_TOKEN = 'at_01ARZ3NDEKTSV4RRFFQ69G5FAV'
const MALFORMED = ['', 'ep_1', '\u0000', 'at_', "x' or true --"]

/** Every table that holds what a person owns. */
const owned = `
  select (select json_agg(e order by e.endpoint_id) from endpoints e) as endpoints,
    (select json_agg(c order by c.credential_sha256) from credentials c) as credentials,
    (select json_agg(a order by a.token_id) from api_tokens a) as api_tokens`

for (const op of [editEndpoint, rotateEndpoint, revokeEndpoint]) {
  t.test(`C4 ${op.name}: foreign, unknown and malformed ids are one not_found`, async (t) => {
    const s = await setup(t)
    const bob = await newUser(s.db, s.clock, 'bob')
    const { endpoint } = await s.vend()
    const before = await tableRows(s.db, owned)
    const as_bob = (endpoint_id: string) => refusal(s.call(op, { endpoint_id }, { principal: bob }))
    const foreign = await as_bob(endpoint.endpoint_id)

    t.match(foreign, { code: 'not_found' })
    for (const id of [UNKNOWN_ENDPOINT, ...MALFORMED]) t.strictSame(await as_bob(id), foreign)
    t.strictSame(await tableRows(s.db, owned), before)
  })
}

t.test('C4 revoke_api_token: foreign, unknown and malformed ids are one not_found', async (t) => {
  const s = await setup(t)
  const bob = await newUser(s.db, s.clock, 'bob')
  const { api_token } = await s.call(createApiToken, { name: 'laptop' }, { principal: s.ann })
  const before = await tableRows(s.db, owned)
  const as_bob = (token_id: string) =>
    refusal(s.call(revokeApiToken, { token_id }, { principal: bob }))
  const foreign = await as_bob(api_token.token_id)

  t.match(foreign, { code: 'not_found' })
  for (const id of [UNKNOWN_TOKEN, ...MALFORMED]) t.strictSame(await as_bob(id), foreign)
  t.strictSame(await tableRows(s.db, owned), before)
})

t.test('C4 lists show nothing of another person', async (t) => {
  const s = await setup(t)
  const bob = await newUser(s.db, s.clock, 'bob')
  const { endpoint } = await s.vend()
  await s.call(createApiToken, { name: 'laptop' }, { principal: s.ann })

  t.strictSame(await s.call(listEndpoints, {}, { principal: bob }), { endpoints: [] })
  t.strictSame(await s.call(listApiTokens, {}, { principal: bob }), { api_tokens: [] })
  // A cursor is only a place in the caller's own list.
  const cursor = endpoint.endpoint_id
  t.strictSame(await s.call(listEndpoints, { cursor }, { principal: bob }), { endpoints: [] })
})

t.test('C4 a claimed endpoint of another person is not touched by set_default_lease', async (t) => {
  const s = await setup(t)
  const bob = await newUser(s.db, s.clock, 'bob')
  const { endpoint } = await s.vend()
  const forged = { ...agentOf(endpoint), user_id: bob.user_id }
  const call = s.call(setDefaultLease, { default_lease_ttl_seconds: 600 }, { principal: forged })

  await t.rejects(call, { code: 'not_found' })
  t.strictSame(await s.identity.endpoint(endpoint.endpoint_id), endpoint)
})

t.test('get_me shows who is logged in, and nobody to nobody', async (t) => {
  const s = await setup(t)
  await newUser(s.db, s.clock, 'bob')

  t.strictSame(await s.call(getMe, {}, { principal: s.ann }), {
    user_id: s.ann.user_id,
    username: 'ann',
    created_at: '2030-01-01T00:00:00.000Z',
  })
  await t.rejects(s.call(getMe, {}, { principal: human(999) }), { code: 'not_found' })
  await t.rejects(s.call(getMe, {}, { principal: human(Number.MAX_SAFE_INTEGER) }), {
    code: 'not_found',
  })
  await t.rejects(s.call(getMe, {}, {}), { code: 'unauthenticated' })
})
