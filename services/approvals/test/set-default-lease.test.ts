import {
  describeDefaultLease,
  type Endpoint,
  revokeEndpoint,
  setDefaultLease,
} from '@guildhall/contracts'
import t from 'tap'
import { agentOf, type Setup, setup } from './setup.ts'

const set = (s: Setup, endpoint: Endpoint, input: object) =>
  s.call(setDefaultLease, input as { default_lease_ttl_seconds: number | null }, {
    // also wrong ones
    principal: agentOf(endpoint),
  })

for (const seconds of [60, 3_600, 86_400]) {
  t.test(`B9 an agent sets its default lease to ${seconds} s`, async (t) => {
    const s = await setup(t)
    const { endpoint } = await s.vend()
    const answer = await set(s, endpoint, { default_lease_ttl_seconds: seconds })

    t.strictSame(answer, describeDefaultLease(seconds))
    t.strictSame(await s.identity.endpoint(endpoint.endpoint_id), {
      ...endpoint,
      default_lease_ttl_seconds: seconds,
      version: 2,
    })
  })
}

t.test('B9 null resets the default lease to the one of the server', async (t) => {
  const s = await setup(t)
  const { endpoint } = await s.vend({ default_lease_ttl_seconds: 3_600 })
  const answer = await set(s, endpoint, { default_lease_ttl_seconds: null })

  t.match(answer, { default_lease_ttl_seconds: null, effective_lease_ttl_seconds: 300 })
  const seen = await s.identity.endpoint(endpoint.endpoint_id)
  t.equal(seen?.default_lease_ttl_seconds, null)
})

const refusedInputs = [
  { default_lease_ttl_seconds: 59 },
  { default_lease_ttl_seconds: 86_401 },
  { default_lease_ttl_seconds: 60.5 },
  {},
  { default_lease_ttl_seconds: 600, endpoint_id: 'ep_01ARZ3NDEKTSV4RRFFQ69G5FAV' },
]

for (const input of refusedInputs) {
  t.test(`B9 set_default_lease ${JSON.stringify(input)} is refused unchanged`, async (t) => {
    const s = await setup(t)
    const { endpoint } = await s.vend({ default_lease_ttl_seconds: 900 })

    await t.rejects(set(s, endpoint, input), { code: 'invalid_argument' })
    t.strictSame(await s.identity.endpoint(endpoint.endpoint_id), endpoint)
  })
}

t.test('B9 B10 the other endpoints of the agent keep their default lease', async (t) => {
  const s = await setup(t)
  const [mine, other] = [await s.vend(), await s.vend()]
  await set(s, mine.endpoint, { default_lease_ttl_seconds: 2_700 })

  t.strictSame(await s.identity.endpoint(other.endpoint.endpoint_id), other.endpoint)
})

t.test('C2 an endpoint that is not granted it cannot set its default lease', async (t) => {
  const s = await setup(t)
  const { endpoint } = await s.vend({ tools: ['claim'] })

  await t.rejects(set(s, endpoint, { default_lease_ttl_seconds: 600 }), { code: 'forbidden' })
  t.strictSame(await s.identity.endpoint(endpoint.endpoint_id), endpoint)
})

t.test('for an agent whose endpoint was just revoked, the endpoint is gone', async (t) => {
  const s = await setup(t)
  const { endpoint } = await s.vend()
  const { endpoint_id } = endpoint
  await s.call(revokeEndpoint, { endpoint_id }, { principal: s.ann })

  await t.rejects(set(s, endpoint, { default_lease_ttl_seconds: 600 }), { code: 'not_found' })
})

t.test('a person has no default lease, and is told what to use', async (t) => {
  const s = await setup(t)
  const call = s.call(setDefaultLease, { default_lease_ttl_seconds: 600 }, { principal: s.ann })

  await t.rejects(call, { code: 'invalid_argument', what_to_do: /edit_endpoint/ })
})
