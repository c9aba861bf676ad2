import { headerJson, publish } from '@guildhall/bus'
import {
  type DeliveryMeta,
  deriveTodoId,
  headers,
  newEndpointId,
  newWebhookId,
  subjects,
} from '@guildhall/contracts'
import { waitFor } from '@guildhall/testing'
import t from 'tap'
import { acceptDelivery } from '../src/consumers/on-delivery.ts'
import { type Bundle, rejectsWith, setup, stopServer } from './setup.ts'

t.teardown(stopServer)

let deliveries = 0

const deliver = async (
  s: Bundle,
  body: Buffer = Buffer.from('{"action":"opened"}'),
  change: Partial<DeliveryMeta> = {},
): Promise<DeliveryMeta> => {
  deliveries += 1
  const meta: DeliveryMeta = {
    v: 1,
    todo_id: deriveTodoId([String(s.owner_id), String(deliveries)]),
    webhook_id: newWebhookId(Date.now()),
    owner_id: s.owner_id,
    endpoint_id: newEndpointId(Date.now()),
    source_type: 'github',
    queue: 'inbox',
    trust_mode: 'signed',
    verified: true,
    verify_detail: 'hmac-sha256 ok',
    external_id: `sha256:${deliveries}`,
    event_type: 'pull_request.opened',
    title: 'PR #7 opened in a/b — naïve',
    content_type: 'application/json',
    headers: {},
    source_ip: '127.0.0.1',
    payload_size: body.length,
    received_at: s.clock.now(),
    ...change,
  }
  await publish(s.bus, subjects.delivery(s.owner_id, meta.source_type, meta.todo_id), body, {
    headers: { [headers.delivery]: headerJson(meta) },
  })
  return meta
}

t.test('a delivery becomes a todo with its payload, kind and title', async (t) => {
  const s = await setup(t)
  const meta = await deliver(s)
  const claimed = await s.worker().next({ wait_seconds: 10 })
  t.match(claimed.todo, {
    id: meta.todo_id,
    source: 'github',
    kind: 'pull_request.opened',
    title: meta.title,
    payload: { action: 'opened' },
  })
})

t.test('a delivery handled twice, also after done, creates nothing more', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  const meta = await deliver(s)
  await worker.next({ wait_seconds: 10 })
  await worker.complete({ id: meta.todo_id })
  await acceptDelivery(s.tasks, {
    subject: subjects.delivery(s.owner_id, 'github', meta.todo_id),
    data: Buffer.from('{}'),
    headers: { [headers.delivery]: headerJson(meta) },
    stream_sequence: 1,
    delivery_count: 2,
    stored_at: 0,
    working: () => undefined,
  })
  t.strictSame(await worker.next(), { empty: true })
  t.equal((await worker.get(meta.todo_id)).state, 'done')
})

t.test('a delivery whose first try died before the message was sent is completed', async (t) => {
  const s = await setup(t)
  const meta = await deliver(s)
  await waitFor(async () => await s.tasks.records.loadFresh(s.owner_id, meta.todo_id), {
    what: 'the todo',
  })
  // As if the process had died between its two writes.
  const stored = await waitFor(
    async () =>
      await s.bus.jsm.streams.getMessage('WORK', {
        last_by_subj: `work.${s.owner_id}.inbox.normal.${meta.todo_id}`,
      }),
    { what: 'the message' },
  )
  await s.bus.jsm.streams.deleteMessage('WORK', stored.seq)
  await acceptDelivery(s.tasks, {
    subject: subjects.delivery(s.owner_id, 'github', meta.todo_id),
    data: Buffer.from('{"again":true}'),
    headers: { [headers.delivery]: headerJson(meta) },
    stream_sequence: 1,
    delivery_count: 2,
    stored_at: 0,
    working: () => undefined,
  })
  t.equal((await s.worker().next()).todo?.id, meta.todo_id)
})

t.test('a message that is no delivery becomes a dead letter and holds up nothing', async (t) => {
  const s = await setup(t)
  await publish(s.bus, `deliveries.${s.owner_id}.github.poison`, Buffer.from('x'))
  const meta = await deliver(s)
  t.equal((await s.worker().next({ wait_seconds: 10 })).todo?.id, meta.todo_id)
  const dead = await waitFor(
    async () => {
      const info = await s.bus.jsm.streams.info('DEAD', {
        subjects_filter: 'dead.0.tasks-deliveries.>',
      })
      const name = `dead.0.tasks-deliveries.deliveries_${s.owner_id}_github_poison-`
      return Object.keys(info.state.subjects ?? {}).filter((subject) => subject.startsWith(name))[0]
    },
    { what: 'the dead letter' },
  )
  const letter = await s.bus.jsm.streams.getMessage('DEAD', { last_by_subj: dead })
  t.equal(letter.string(), 'x')
  t.match(letter.header.get(headers.reason), /invalid_argument/)
})

t.test('bodies that are not JSON arrive as they are', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  const table = [
    {
      type: 'text/plain',
      body: Buffer.from('héllo'),
      payload: { encoding: 'utf8', body: 'héllo' },
    },
    {
      type: 'application/octet-stream',
      body: Buffer.from([0, 255, 1]),
      payload: { encoding: 'base64', body: 'AP8B' },
    },
    {
      type: 'application/json',
      body: Buffer.from('{broken'),
      payload: { encoding: 'utf8', body: '{broken' },
    },
    {
      type: 'application/x-www-form-urlencoded',
      body: Buffer.from('payload=%7B%22a%22%3A1%7D'),
      payload: { a: 1 },
    },
    { type: 'application/json', body: Buffer.alloc(0), payload: null },
  ]
  for (const { type, body, payload } of table) {
    const { todo_id } = await deliver(s, body, { content_type: type })
    const claimed = await worker.next({ wait_seconds: 10 })
    t.equal(claimed.todo?.id, todo_id)
    const expected =
      payload !== null && 'encoding' in payload ? { content_type: type, ...payload } : payload
    t.strictSame(claimed.todo?.payload, expected)
    await worker.complete({ id: todo_id })
  }
})

t.test('a large payload is not in the claim but read in pages by its holder', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  const body = Buffer.from(JSON.stringify({ text: 'ä'.repeat(100_000) }))
  const { todo_id } = await deliver(s, body)
  const claimed = await worker.next({ wait_seconds: 10 })
  t.match(claimed.todo, { payload: null, payload_truncated: true, payload_size: body.length })
  const { getTodoPayload } = await import('@guildhall/contracts')
  const pages: Buffer[] = []
  let offset: number | null = 0
  while (offset !== null) {
    const page: { body: string; encoding: 'utf8' | 'base64'; next_offset: number | null } =
      await worker.call(getTodoPayload, { id: todo_id, offset })
    pages.push(Buffer.from(page.body, page.encoding))
    offset = page.next_offset
  }
  t.ok(Buffer.concat(pages).equals(body))
  await rejectsWith(t, s.worker().call(getTodoPayload, { id: todo_id }), 'conflict')
})

t.test('C9 a revoked endpoint loses its claims at once, and only its own', async (t) => {
  const s = await setup(t)
  const revoked = s.worker()
  const other = s.worker()
  const mine = await revoked.create()
  const theirs = await revoked.create()
  await revoked.claim({ id: mine.id })
  await other.claim({ id: theirs.id })
  await publish(s.bus, subjects.event('approvals', 'endpoint', 'revoked'), {
    v: 1,
    endpoint_id: revoked.principal.endpoint_id,
    agent_id: revoked.principal.agent_id,
    user_id: s.owner_id,
    revoked_at: s.clock.now(),
  })
  const ended = await waitFor(
    async () => {
      const todo = await other.get(mine.id)
      return todo.state === 'pending' ? todo : undefined
    },
    { what: 'the claim to end' },
  )
  t.match(ended.attempts, [{ outcome: 'revoked', disposition: 'requeued' }])
  t.equal((await other.get(theirs.id)).state, 'claimed')
})

t.test('rings are made again after 5 min, 20 min, 1 h and 6 h, and not more', async (t) => {
  const s = await setup(t)
  const rung: string[] = []
  s.bus.nc.subscribe(`doorbell.${s.owner_id}.inbox`, {
    callback: (_error, message) => rung.push(message.string()),
  })
  await s.worker().create()
  await s.projected()
  await waitFor(async () => rung.length === 1, { what: 'the first ring' })
  const minutes = [4, 6, 19, 21, 59, 61, 359, 361, 2_000, 4_000]
  const counts: number[] = []
  const start = s.clock.now()
  for (const minute of minutes) {
    s.clock.set(start + minute * 60_000)
    await s.sweep()
    await s.bus.nc.flush()
    counts.push(rung.length)
  }
  t.strictSame(counts, [1, 2, 2, 3, 3, 4, 4, 5, 5, 5])
})

t.test('D9 a lapse rings with the sweep that finds it', async (t) => {
  const s = await setup(t)
  let rung = 0
  const { id } = await s.worker().create()
  await s.worker().claim({ id })
  s.bus.nc.subscribe(`doorbell.${s.owner_id}.inbox`, { callback: () => (rung += 1) })
  await s.projected()
  s.clock.advance(301_000)
  await s.sweep()
  await waitFor(async () => rung === 1, { what: 'the ring' })
  t.equal(rung, 1)
})
