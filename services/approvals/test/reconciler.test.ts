import {
  createApiToken,
  credentialKey,
  type Endpoint,
  endpointKey,
  revokeEndpoint,
} from '@guildhall/contracts'
import { waitFor } from '@guildhall/testing'
import t from 'tap'
import { createFirstOwner } from '../src/first-owner.ts'
import { createProjection, endpointEntry } from '../src/projection.ts'
import { reconcileIdentity } from '../src/reconciler.ts'
import { type Setup, setup } from './setup.ts'

const reconcile = (s: Setup) => reconcileIdentity(s.db, createProjection(s.bus))

t.test('a lost bucket is built again from the database', async (t) => {
  const s = await setup(t)
  const live = await s.vend()
  const dead = await s.vend()
  const { endpoint_id } = dead.endpoint
  const revoked = await s.call(revokeEndpoint, { endpoint_id }, { principal: s.ann })
  const { token } = await s.call(createApiToken, { name: 'laptop' }, { principal: s.ann })
  const credentials = [live.token, dead.token, token]
  const before = await Promise.all(credentials.map(s.identity.credential))
  await s.identity.forget(
    endpointKey(live.endpoint.endpoint_id),
    endpointKey(endpoint_id),
    ...credentials.map(credentialKey),
  )
  const reconciled = await reconcile(s)

  t.strictSame(reconciled, {
    endpoints: { seen: 2, written: 2 },
    credentials: { seen: 2, written: 2 },
    api_tokens: { seen: 1, written: 1 },
    // Nothing was lost of the other bucket.
    agents: { seen: 1, written: 0 },
  })
  t.strictSame(await s.identity.endpoint(live.endpoint.endpoint_id), live.endpoint)
  t.strictSame(await s.identity.endpoint(endpoint_id), revoked)
  t.strictSame(await Promise.all(credentials.map(s.identity.credential)), before)
})

t.test('what is current is left alone, also past its expiry', async (t) => {
  const s = await setup(t)
  const { endpoint } = await s.vend({
    expires_at: new Date(s.clock.now() + 1_000).toISOString(),
  })
  s.clock.advance(2_000)

  t.strictSame(await reconcile(s), {
    endpoints: { seen: 1, written: 0 },
    credentials: { seen: 1, written: 0 },
    api_tokens: { seen: 0, written: 0 },
    agents: { seen: 1, written: 0 },
  })
  t.strictSame(await s.identity.endpoint(endpoint.endpoint_id), endpoint)
})

t.test('more endpoints than one page are all seen', async (t) => {
  const s = await setup(t)
  const { endpoint } = await s.vend()
  await s.db.raw(`
    insert into endpoints
    select 'ep_' || lpad(n::text, 26, '0'), user_id, agent_id, name, tools, queues, webhook_max,
      webhook_source_types, webhook_queues, default_lease_ttl_seconds, require_fence, rate_limit,
      allowed_cidrs, expires_at, status, credential_prefix, created_at, revoked_at, version
    from endpoints, generate_series(1, 450) n`)
  const { endpoints } = await reconcile(s)
  const last = `ep_${'450'.padStart(26, '0')}`

  t.strictSame(endpoints, { seen: 451, written: 450 })
  t.strictSame(await s.identity.endpoint(last), { ...endpoint, endpoint_id: last } as Endpoint) // a fabricated id
})

t.test(
  'an entry that is behind is brought forward, one that is ahead is not put back',
  async (t) => {
    const s = await setup(t)
    const { endpoint } = await s.vend()
    const projection = createProjection(s.bus)
    const ahead = { ...endpoint, name: 'ahead', version: 2 }

    t.equal(await projection.apply(endpointEntry(ahead)), true)
    t.equal(await projection.apply(endpointEntry(endpoint)), false)
    t.strictSame(await s.identity.endpoint(endpoint.endpoint_id), ahead)
  },
)

t.test('a service that starts repairs the bucket at once', async (t) => {
  const s = await setup(t, { start: false })
  const owner = await createFirstOwner(s.db, new Date(s.clock.now()))
  const endpoint_id = owner?.agent.endpoint_id ?? ''
  await s.db('outbox').delete() // so that the relay cannot be what did it
  await s.startParts()

  const seen = await waitFor(() => s.identity.endpoint(endpoint_id), { what: 'the endpoint' })
  t.match(seen, { status: 'active', version: 1 })
})
