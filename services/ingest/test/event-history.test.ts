import { publish } from '@guildhall/bus'
import {
  getWebhookEvent,
  headers as headerNames,
  listWebhookEvents,
  PAYLOAD_PAGE_BYTES,
  replayWebhookEvent,
  streams,
  subjects,
} from '@guildhall/contracts'
import { waitFor } from '@guildhall/testing'
import t from 'tap'
import { forgetOldRows } from '../src/reconcilers/forget-old.ts'
import { insertEvents } from '../src/store/events.ts'
import { deliveriesOf, hubHeaders, newOwner, refusal, type Setup, setup } from './setup.ts'

const countEvents = async (s: Setup): Promise<number> =>
  (await s.db('webhook_events').where({ owner_id: s.owner.user_id })).length

const settle = (s: Setup, count: number) =>
  waitFor(async () => (await countEvents(s)) === count, { what: `${count} events in the history` })

const list = (s: Setup, input: object = {}, principal: Setup['owner'] = s.owner) =>
  s.call(listWebhookEvents, { ...input }, { principal })

/** An event as if received at a time, without the way through the stream. */
const insertAt = async (s: Setup, received_at: number, n: number): Promise<void> => {
  const [{ meta } = {}] = await deliveriesOf(s.bus, s.owner.user_id)
  if (meta === undefined) throw new Error('one delivery is needed as a pattern')
  const todo_id = meta.todo_id.slice(0, -6) + String(n).padStart(6, '0')
  const body = Buffer.from(String(n))
  const changed = { ...meta, todo_id, received_at } as typeof meta // the id keeps its form
  await insertEvents(s.db, [{ meta: changed, endpoint_id: null, body }])
}

t.test('an event is listed without its body and shown with it', async (t) => {
  const s = await setup(t)
  const { webhook_id, ingest_url, signing_secret = '' } = await s.create(s.owner, 'github')
  const body = '{"action":"opened","text":"Dach ✓"}'
  const headers = {
    ...hubHeaders(signing_secret, body),
    'x-github-event': 'issues',
    'user-agent': 'hook/1',
  }
  const { body: answer } = await s.post(ingest_url, body, headers)
  await settle(s, 1)
  const { events, ...rest } = await list(s)
  t.strictSame(rest, {}, 'no next page')
  const [event] = events
  const row = {
    id: event?.id,
    provider: 'github',
    event_type: 'issues',
    trust_mode: 'signed',
    verified: true,
    payload_size: Buffer.byteLength(body),
    received_at: new Date(s.clock.now()).toISOString(),
  }
  t.strictSame(events, [row])
  const shown = await s.call(getWebhookEvent, { id: event?.id ?? 0 }, { principal: s.owner })
  const { headers: kept, ...fields } = shown
  t.strictSame(fields, {
    ...row,
    webhook_id,
    todo_id: answer.id,
    verify_detail: 'hmac-sha256 ok',
    external_id: (await deliveriesOf(s.bus, s.owner.user_id))[0]?.meta.external_id,
    content_type: 'application/json',
    source_ip: '127.0.0.1',
    payload: body,
    payload_encoding: 'utf8',
    next_payload_offset: null,
  })
  t.match(kept, { 'user-agent': 'hook/1', 'x-hub-signature-256': '«redacted»' })
})

t.test('filters: provider, type, since a time or an id; bad ones are named', async (t) => {
  const s = await setup(t)
  const github = await s.create(s.owner, 'github')
  const generic = await s.create(s.owner, 'generic')
  const start = s.clock.now()
  const { signing_secret = '' } = github
  for (const [n, event] of ['push', 'issues'].entries()) {
    const headers = { ...hubHeaders(signing_secret, `${n}`), 'x-github-event': event }
    await s.post(github.ingest_url, `${n}`, headers)
    s.clock.advance(1_000)
    await settle(s, n + 1)
  }
  await s.post(generic.ingest_url, '2')
  await settle(s, 3)
  const ids = (await list(s)).events.map(({ id }) => id)
  t.equal(ids.length, 3)
  const [third, second, first] = ids
  const found = async (input: object) => (await list(s, input)).events.map(({ id }) => id)
  t.strictSame(await found({ provider: 'github' }), [second, first])
  t.strictSame(await found({ event_type: 'push' }), [first])
  t.strictSame(await found({ since: new Date(start + 1_000).toISOString() }), [third, second])
  t.strictSame(await found({ since: String(second) }), [third, second])
  const offset = new Date(start + 2_000 + 3_600_000).toISOString().replace('Z', '+01:00')
  t.strictSame(await found({ since: offset }), [third])
  const bad = [
    { provider: 'nonsense' },
    { since: 'yesterday' },
    { since: '-1' },
    { cursor: 'nonsense' },
    { cursor: Buffer.from('[1]').toString('base64url') },
    { cursor: Buffer.from('[9e15,1]').toString('base64url') },
    { cursor: "'" },
    { event_type: 'a\0b' },
    { limit: 0 },
    { limit: 201 },
  ]
  for (const input of bad) {
    await t.rejects(list(s, input), { code: 'invalid_argument' }, JSON.stringify(input))
  }
})

t.test('C11 pages under concurrent inserts: no gap, no repeat', async (t) => {
  const s = await setup(t)
  const { ingest_url } = await s.create(s.owner, 'generic')
  await s.post(ingest_url, 'pattern')
  await settle(s, 1)
  const start = s.clock.now()
  // Times collide on purpose: the id has to tell rows of one time apart.
  for (let n = 0; n < 60; n += 1) await insertAt(s, start + Math.floor(n / 7), n)
  const before = (await s.db('webhook_events').where({ owner_id: s.owner.user_id })).map(
    (row: { id: number }) => row.id,
  )
  const seen: number[] = []
  let cursor: string | undefined
  let extra = 100
  do {
    const page = await list(s, { limit: 7, ...(cursor === undefined ? {} : { cursor }) })
    seen.push(...page.events.map(({ id }) => id))
    cursor = page.next_cursor
    // Newer than all, of the same time as the row at the cursor, and older than it.
    for (const time of [start + 99, start + 4, start - 1]) {
      await insertAt(s, time, extra)
      extra += 1
    }
  } while (cursor !== undefined && seen.length < 500)
  t.equal(new Set(seen).size, seen.length, 'no repeat')
  t.strictSame(
    before.filter((id: number) => !seen.includes(id)),
    [],
    'no gap',
  )
  const times = await s.db('webhook_events').whereIn('id', seen).select('id', 'received_at')
  const timeOf = new Map(
    times.map((row: { id: number; received_at: string }) => [row.id, row.received_at]),
  )
  const order = seen.map((id) => `${timeOf.get(id)} ${String(id).padStart(9, '0')}`)
  t.strictSame(order, [...order].sort().reverse(), 'newest first')
})

t.test(
  "an agent sees the events of its endpoint, in its queues; nobody sees a stranger's",
  async (t) => {
    const s = await setup(t)
    const queues = { webhook_queues: ['inbox', 'other'] }
    const mine = await s.vend(queues)
    const sibling = await s.vend(queues)
    const inbox = await s.create(mine.principal, 'generic')
    const other = await s.create(mine.principal, 'generic', { target_queue: 'other' })
    const theirs = await s.create(sibling.principal, 'generic')
    for (const { ingest_url } of [inbox, other, theirs]) await s.post(ingest_url, '{}')
    await settle(s, 3)
    const { principal } = mine
    const seen = await s.call(listWebhookEvents, {}, { principal })
    t.equal(seen.events.length, 1)
    const all = await list(s)
    t.equal(all.events.length, 3, 'the human sees all')
    t.strictSame((await list(s, {}, newOwner())).events, [])
    const unknown = await refusal(s.call(getWebhookEvent, { id: 2 ** 40 }, { principal }))
    t.match(unknown, { code: 'not_found' })
    for (const { id } of all.events) {
      if (id === seen.events[0]?.id) continue
      t.strictSame(await refusal(s.call(getWebhookEvent, { id }, { principal })), unknown)
      t.strictSame(await refusal(s.call(replayWebhookEvent, { id }, { principal })), unknown)
      const stranger = { principal: newOwner() }
      t.strictSame(await refusal(s.call(getWebhookEvent, { id }, stranger)), unknown)
    }
  },
)

t.test('a long body is shown in pages, a binary one as base64', async (t) => {
  const s = await setup(t)
  const { ingest_url } = await s.create(s.owner, 'generic')
  const text = 'ä'.repeat(PAYLOAD_PAGE_BYTES)
  await s.post(ingest_url, `x${text}`)
  await settle(s, 1)
  const binary = Buffer.from([0, 255, 254, 1])
  await s.post(ingest_url, binary, { 'content-type': 'application/octet-stream' })
  await settle(s, 2)
  const [second, first] = (await list(s)).events.map(({ id }) => id)
  const page = (id: number | undefined, payload_offset = 0) =>
    s.call(getWebhookEvent, { id: id ?? 0, payload_offset }, { principal: s.owner })
  let read = ''
  let offset: number | null = 0
  while (offset !== null) {
    const next: Awaited<ReturnType<typeof page>> = await page(first, offset)
    t.equal(next.payload_encoding, 'utf8')
    read += next.payload
    offset = next.next_payload_offset
  }
  t.equal(read, `x${text}`)
  t.match(await page(second), { payload: binary.toString('base64'), payload_encoding: 'base64' })
  await t.rejects(page(second, 5), { code: 'invalid_argument' })
  await t.rejects(page(second, 2 ** 50), { code: 'invalid_argument' })
})

t.test('a replay is a new todo; the same key gives the same one', async (t) => {
  const s = await setup(t)
  const { principal } = await s.vend()
  const { ingest_url } = await s.create(principal, 'generic')
  const { body: accepted } = await s.post(ingest_url, '{"n":1}')
  await settle(s, 1)
  const [event] = (await s.call(listWebhookEvents, {}, { principal })).events
  const id = event?.id ?? 0
  const replay = (idempotency_key?: string) =>
    s.call(replayWebhookEvent, { id }, { principal, idempotency_key })
  const first = await replay('again')
  t.match(first, { id, queue: 'inbox', created: true })
  t.not(first.todo_id, accepted.id)
  t.strictSame(await replay('again'), { ...first, created: false })
  const another = await replay()
  t.not(another.todo_id, first.todo_id)
  const stored = await deliveriesOf(s.bus, s.owner.user_id)
  t.match(
    stored.map(({ meta, data }) => [meta.todo_id, meta.replay_of, data.toString()]),
    [
      [accepted.id, undefined, '{"n":1}'],
      [first.todo_id, id, '{"n":1}'],
      [another.todo_id, id, '{"n":1}'],
    ],
  )
  s.clock.advance(1)
  await s.post(ingest_url, '{"n":2}')
  await settle(s, 2)
  t.strictSame(await replay('again'), { ...first, created: false }, 'a replay is no event itself')
})

t.test('a redelivery to the history changes nothing', async (t) => {
  const s = await setup(t)
  const { ingest_url } = await s.create(s.owner, 'generic')
  await s.post(ingest_url, '{"n":1}')
  await settle(s, 1)
  const before = await s.db('webhook_events').where({ owner_id: s.owner.user_id })
  const [delivery] = await deliveriesOf(s.bus, s.owner.user_id)
  if (delivery === undefined) return
  const { meta, data } = delivery
  const again = { meta: { ...meta, title: 'changed' }, endpoint_id: null, body: data }
  await insertEvents(s.db, [again, again])
  t.strictSame(await s.db('webhook_events').where({ owner_id: s.owner.user_id }), before)
})

t.test('a delivery that cannot be read becomes a dead letter and holds nobody up', async (t) => {
  const s = await setup(t)
  const subject = subjects.delivery(s.owner.user_id, 'generic', `td_poison-${s.owner.user_id}`)
  await publish(s.bus, subject, Buffer.from('x'), {
    headers: { [headerNames.delivery]: '{"v":2}' },
  })
  const { ingest_url } = await s.create(s.owner, 'generic')
  await s.post(ingest_url, '{"n":1}')
  await settle(s, 1)
  const dead = await waitFor(
    async () => {
      const filter = { subjects_filter: 'dead.0.ingest-history.>' }
      const { state } = await s.bus.jsm.streams.info(streams.dead, filter)
      return Object.keys(state.subjects ?? {}).find((name) => name.includes(`${s.owner.user_id}`))
    },
    { what: 'the dead letter' },
  )
  const message = await s.bus.jsm.streams.getMessage(streams.dead, { last_by_subj: dead })
  t.match(
    message.header.get(headerNames.reason),
    /invalid_argument: the message is not of a known form/,
  )
})

t.test('what is older than 30 days is forgotten, in batches, and nothing else', async (t) => {
  const s = await setup(t)
  const { ingest_url, webhook_id } = await s.create(s.owner, 'generic', { idempotency_key: 'k' })
  await s.post(ingest_url, 'pattern')
  await settle(s, 1)
  const day = 86_400_000
  for (let n = 0; n < 3; n += 1) await insertAt(s, s.clock.now() - 30 * day - 1, n)
  await insertAt(s, s.clock.now() - 30 * day, 3)
  t.equal(await countEvents(s), 5)
  await forgetOldRows(s.deps)
  t.equal(await countEvents(s), 2)
  t.equal((await s.db('answers')).length, 1)
  await s
    .db('webhooks')
    .where({ webhook_id })
    .update({ deleted_at: new Date(s.clock.now()) })
  s.clock.advance(2 * day)
  await forgetOldRows(s.deps)
  t.strictSame(await s.db('answers'), [])
  t.strictSame(await s.db('webhook_urls').where({ webhook_id }), [])
  t.strictSame(await s.db('webhooks').where({ webhook_id }), [])
  await waitFor(
    () => [...s.deps.webhookMirror.entries()].every(([, r]) => r.webhook_id !== webhook_id),
    { what: 'the bucket to forget the webhook' },
  )
})
