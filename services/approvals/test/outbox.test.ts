import { editEndpoint, revokeEndpoint } from '@guildhall/contracts'
import { startNats, waitFor } from '@guildhall/testing'
import t from 'tap'
import { relayRow } from '../src/announce.ts'
import { createFirstOwner, type FirstOwner } from '../src/first-owner.ts'
import { handleEditEndpoint } from '../src/operations/edit-endpoint.ts'
import { handleRevokeEndpoint } from '../src/operations/revoke-endpoint.ts'
import { createProjection } from '../src/projection.ts'
import { contextOf, eventsAbout, human, refusal, type Setup, setup, tableRows } from './setup.ts'

const firstOwner = async (s: Setup): Promise<FirstOwner> => {
  const owner = await createFirstOwner(s.db, new Date(s.clock.now()))
  if (owner === undefined) throw new Error('there is an owner already')
  return owner
}

const outboxRows = async (s: Setup): Promise<number> =>
  (await tableRows(s.db, 'select id from outbox')).length

t.test('what was committed before a crash reaches the gateway after the restart', async (t) => {
  const s = await setup(t, { start: false })
  const { agent, api_token } = await firstOwner(s)
  t.equal(await s.identity.endpoint(agent.endpoint_id), undefined, 'the crash came first')
  await s.startParts()

  await waitFor(async () => (await outboxRows(s)) === 0, { what: 'the outbox to be empty' })
  t.match(await s.identity.endpoint(agent.endpoint_id), { status: 'active', version: 1 })
  t.match(await s.identity.credential(agent.token), { kind: 'endpoint', revoked: false })
  t.match(await s.identity.credential(api_token), { kind: 'api_token', revoked: false })
})

t.test('rows that are relayed again, late and in any order, change nothing', async (t) => {
  const s = await setup(t, { start: false })
  const owner = await firstOwner(s)
  const { endpoint_id, token } = owner.agent
  const context = contextOf(human(owner.user_id))
  const rows = () => s.db('outbox').select('*').orderBy('id')
  const relay = relayRow(s.bus, createProjection(s.bus))
  await handleEditEndpoint({ ...s.deps, settle: async () => {} })(context, {
    endpoint_id,
    name: 'edited',
  })
  await handleRevokeEndpoint({ ...s.deps, settle: async () => {} })(context, { endpoint_id })
  const relayed = await rows()
  for (const row of [...relayed, ...relayed, ...relayed.reverse()]) await relay(row)

  t.match(await s.identity.endpoint(endpoint_id), { status: 'revoked', name: 'edited', version: 3 })
  t.match(await s.identity.credential(token), { revoked: true })
  t.equal((await eventsAbout(s.bus, endpoint_id)).length, 1)
})

t.test('an edit while the bus is down stands, says so, and takes effect afterwards', async (t) => {
  const nats = await startNats()
  t.teardown(() => nats.kill())
  const s = await setup(t, { nats })
  const { endpoint } = await s.vend()
  const { endpoint_id } = endpoint
  const edit = handleEditEndpoint(s.deps)
  await nats.kill()
  const refused = await refusal(edit(contextOf(s.ann, 'key-1'), { endpoint_id, name: 'edited' }))
  t.match(refused, {
    code: 'unavailable',
    message: /stored, but not yet in force/,
    what_to_do: /repeat the call with the same idempotency key/,
  })
  await nats.restart()

  const seen = await waitFor(
    async () => {
      const found = await s.identity.endpoint(endpoint_id)
      return found?.version === 2 && found
    },
    { what: 'the edit at the gateway', timeout_ms: 30_000 },
  )
  t.strictSame(seen, { ...endpoint, name: 'edited', version: 2 })
  const repeated = await s.call(
    editEndpoint,
    { endpoint_id, name: 'edited' },
    { principal: s.ann, idempotency_key: 'key-1' },
  )
  t.strictSame(repeated, seen, 'the repeat is not a second edit')
})

t.test('a revocation while the bus is down is told once, after it is back', async (t) => {
  const nats = await startNats()
  t.teardown(() => nats.kill())
  const s = await setup(t, { nats })
  const { endpoint, token } = await s.vend()
  const { endpoint_id } = endpoint
  await nats.kill()
  const context = contextOf(s.ann)
  await t.rejects(handleRevokeEndpoint(s.deps)(context, { endpoint_id }), { code: 'unavailable' })
  await nats.restart()
  const revoked = await waitFor(
    () => s.call(revokeEndpoint, { endpoint_id }, { principal: s.ann }),
    { what: 'an answer after the outage', timeout_ms: 30_000 },
  )

  t.equal(revoked.version, 2)
  t.match(await s.identity.credential(token), { revoked: true })
  t.equal((await eventsAbout(s.bus, endpoint_id)).length, 1)
})
