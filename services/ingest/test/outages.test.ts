import { randomBytes } from 'node:crypto'
import {
  bodyStore,
  getWebhookEvent,
  listWebhookEvents,
  replayWebhookEvent,
} from '@guildhall/contracts'
import { createLogger } from '@guildhall/runtime'
import { startNats, startPostgres, waitFor } from '@guildhall/testing'
import t from 'tap'
import { projectAllWebhooks } from '../src/reconcilers/project-webhooks.ts'
import { deliveriesOf, hubHeaders, migrateUrl, type Setup, setup } from './setup.ts'

const silent = createLogger({ service: 'test', level: 'silent' })

const countEvents = async (s: Setup): Promise<number> =>
  (await s.db('webhook_events').where({ owner_id: s.owner.user_id })).length

const storedBodies = async (s: Setup): Promise<string[]> => {
  const store = await s.bus.js.views.os(bodyStore)
  return (await store.list()).map(({ name }) => name)
}

t.test('with PostgreSQL down deliveries are accepted, and the history catches up', async (t) => {
  const postgres = await startPostgres()
  t.teardown(() => postgres.stop())
  await migrateUrl(postgres.adminUrl, silent)
  const s = await setup(t, { database_url: postgres.adminUrl })
  const { ingest_url, signing_secret = '' } = await s.create(s.owner, 'github')
  await postgres.kill()
  const send = (body: string) => s.post(ingest_url, body, hubHeaders(signing_secret, body))
  for (let n = 0; n < 5; n += 1) t.match(await send(`${n}`), { status: 202, body: { created: 1 } })
  t.match(await send('0'), { status: 202, body: { created: 0, repeat: true } })
  t.ok((await s.ready()).bus, 'still ready')
  await t.rejects(s.call(listWebhookEvents, {}, { principal: s.owner }), { code: 'unavailable' })
  await t.rejects(s.create(s.owner, 'github'), { code: 'unavailable' })
  await postgres.restart()
  await waitFor(async () => (await countEvents(s)) === 5, {
    what: 'the history to catch up',
    timeout_ms: 30_000,
  })
})

t.test('with NATS down deliveries are 503 with Retry-After, and work again after', async (t) => {
  const nats = await startNats()
  t.teardown(() => nats.stop())
  const s = await setup(t, { nats })
  const { ingest_url } = await s.create(s.owner, 'generic')
  t.match(await s.post(ingest_url, 'before'), { status: 202 })
  await nats.kill()
  const refused = await s.post(ingest_url, 'during')
  t.equal(refused.status, 503)
  t.ok(Number(refused.headers.get('retry-after')) > 0)
  t.equal(refused.body.code, 'unavailable')
  await nats.restart()
  await waitFor(async () => (await s.post(ingest_url, 'during')).status === 202, {
    what: 'deliveries to be accepted again',
    timeout_ms: 30_000,
  })
  t.match(await s.post(ingest_url, 'before'), { status: 202, body: { created: 0 } }, 'remembered')
  await waitFor(async () => (await countEvents(s)) === 2, {
    what: 'the history to go on',
    timeout_ms: 30_000,
  })
  const bodies = (await deliveriesOf(s.bus, s.owner.user_id)).map(({ data }) => data.toString())
  t.strictSame(bodies, ['before', 'during'])
})

t.test('a full stream refuses, and accepts again when there is room', async (t) => {
  const nats = await startNats()
  t.teardown(() => nats.stop())
  const s = await setup(t, { nats })
  const { ingest_url } = await s.create(s.owner, 'generic')
  const resize = (max_bytes: number) => s.bus.jsm.streams.update('DELIVERIES', { max_bytes })
  await resize(4_096)
  const big = 'x'.repeat(8_192)
  const refused = await s.post(ingest_url, big)
  t.strictSame([refused.status, refused.body.code], [503, 'unavailable'])
  await resize(1_048_576)
  t.match(await s.post(ingest_url, big), { status: 202, body: { created: 1 } })
})

t.test('a body larger than a message goes by the object store, byte for byte', async (t) => {
  const nats = await startNats({ maxPayload: 262_144 })
  t.teardown(() => nats.stop())
  const s = await setup(t, { nats })
  const { ingest_url, signing_secret = '' } = await s.create(s.owner, 'github')
  const body = randomBytes(3_000_000)
  const send = () => s.post(ingest_url, body, hubHeaders(signing_secret, body))
  t.match(await send(), { status: 202, body: { created: 1 } })
  t.match(await send(), { status: 202, body: { created: 0, repeat: true } })
  const [delivery, ...more] = await deliveriesOf(s.bus, s.owner.user_id)
  t.strictSame(more, [])
  t.equal(delivery?.data.length, 0)
  const body_ref = delivery?.meta.body_ref ?? ''
  t.ok(Buffer.from((await s.deps.bodies.get(body_ref)) ?? []).equals(body))
  t.strictSame(await storedBodies(s), [body_ref], 'the repeat left nothing behind')

  await waitFor(async () => (await countEvents(s)) === 1, { what: 'the event' })
  const { events } = await s.call(listWebhookEvents, {}, { principal: s.owner })
  const id = events[0]?.id ?? 0
  const page = { id, payload_offset: 1_000_000 }
  const shown = await s.call(getWebhookEvent, page, { principal: s.owner })
  const piece = Buffer.from(shown.payload, 'base64')
  t.ok(piece.length > 0 && piece.equals(body.subarray(1_000_000, 1_000_000 + piece.length)))

  const replayed = await s.call(replayWebhookEvent, { id }, { principal: s.owner })
  const copy = (await deliveriesOf(s.bus, s.owner.user_id)).at(-1)?.meta
  t.equal(copy?.todo_id, replayed.todo_id)
  t.not(copy?.body_ref, body_ref, 'a replay has a copy of its own')
  t.ok(Buffer.from((await s.deps.bodies.get(copy?.body_ref ?? '')) ?? []).equals(body))
})

t.test('of two large bodies with one delivery id, the first stays as it was', async (t) => {
  const nats = await startNats({ maxPayload: 262_144 })
  t.teardown(() => nats.stop())
  const s = await setup(t, { nats })
  const { ingest_url } = await s.create(s.owner, 'generic')
  const bodies = Array.from({ length: 4 }, (_, n) => Buffer.alloc(300_000, String(n)))
  const answers = await Promise.all(
    bodies.map((body) => s.post(ingest_url, body, { 'x-delivery-id': 'same' })),
  )
  t.equal(answers.filter(({ body }) => body.created === 1).length, 1)
  const [delivery, ...more] = await deliveriesOf(s.bus, s.owner.user_id)
  t.strictSame(more, [])
  const winner = answers.findIndex(({ body }) => body.created === 1)
  const stored = await s.deps.bodies.get(delivery?.meta.body_ref ?? '')
  t.ok(Buffer.from(stored ?? []).equals(bodies[winner] ?? Buffer.alloc(0)))
  t.strictSame(await storedBodies(s), [delivery?.meta.body_ref])
})

t.test('a bucket that was lost is filled again from the database', async (t) => {
  const nats = await startNats()
  t.teardown(() => nats.stop())
  const s = await setup(t, { nats })
  const { ingest_url } = await s.create(s.owner, 'generic')
  const keys = [...s.deps.webhookMirror.entries()].map(([key]) => key)
  for (const key of keys) await s.deps.webhooks.delete(key)
  await waitFor(async () => (await s.post(ingest_url, '1')).status === 404, {
    what: 'the webhook to be gone',
  })
  await projectAllWebhooks(s.deps)
  t.equal((await s.post(ingest_url, '2')).status, 202)
})

t.test('of many equal deliveries at once, one is the first', async (t) => {
  const s = await setup(t)
  const { ingest_url } = await s.create(s.owner, 'generic')
  const answers = await Promise.all(Array.from({ length: 20 }, () => s.post(ingest_url, 'same')))
  t.strictSame(answers.map(({ status, body }) => `${status} ${body.created}`).sort(), [
    ...Array(19).fill('202 0'),
    '202 1',
  ])
  t.equal(new Set(answers.map(({ body }) => body.id)).size, 1)
  t.equal((await deliveriesOf(s.bus, s.owner.user_id)).length, 1)
})
