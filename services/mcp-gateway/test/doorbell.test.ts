import { publishCore, subscribeCore } from '@guildhall/bus'
import {
  credentialKey,
  type OutputOf,
  oldestPending,
  Rung,
  subjects,
  type TodoRow,
} from '@guildhall/contracts'
import { type EventStream, waitFor } from '@guildhall/testing'
import t from 'tap'
import { type Fixture, newUserId, setup } from './support/gateway.ts'
import { listen, openStream, post, postModern, request } from './support/mcp-client.ts'
import { ringFor, todoRow } from './support/todos.ts'

const UPDATED = 'notifications/resources/updated'
const CHANNEL = 'notifications/claude/channel'
const TOOLS_CHANGED = 'notifications/tools/list_changed'
const RESOURCES_CHANGED = 'notifications/resources/list_changed'

const ring = (f: Fixture, user_id: number, row: TodoRow): void =>
  publishCore(f.bus, subjects.doorbell(user_id, row.queue), ringFor(row))

const rungIds = (stream: EventStream): unknown[] =>
  stream.messages
    .filter(({ method }) => method === CHANNEL)
    .map(({ params }) => Reflect.get(params?.meta ?? {}, 'todo_id'))

/** All rings up to a last one have arrived when the last one has: NATS keeps the order. */
const settle = async (f: Fixture, user_id: number, stream: EventStream): Promise<unknown> => {
  const last = todoRow()
  ring(f, user_id, last)
  await waitFor(() => rungIds(stream).includes(last.id), { what: 'the last ring' })
  return last.id
}

t.test('D1 a todo rings an open stream exactly once, without its payload', async (t) => {
  const f = await setup(t)
  const { token, endpoint } = await f.vend()
  const rung: Rung[] = []
  const subject = subjects.rung(endpoint.user_id, 'inbox')
  subscribeCore(f.bus, subject, {}, Rung, (payload) => rung.push(payload))
  const stream = await openStream(f.mcp_url, token)
  t.equal(stream.headers.get('content-type'), 'text/event-stream')
  t.equal(stream.headers.get('x-accel-buffering'), 'no')
  t.match(stream.headers.get('cache-control'), 'no-store')
  await f.attached(1)
  const row = todoRow({ kind: 'webhook', source: 'github' })
  ring(f, endpoint.user_id, row)
  const last = await settle(f, endpoint.user_id, stream)
  t.strictSame(rungIds(stream), [row.id, last])
  const [updated] = await stream.until(UPDATED)
  t.strictSame(updated?.params, { uri: 'guildhall://queues/inbox' })
  const [channel] = await stream.until(CHANNEL)
  t.strictSame(Object.keys(channel?.params ?? {}), ['content', 'meta'])
  t.strictSame(channel?.params?.meta, {
    todo_id: row.id,
    queue: 'inbox',
    kind: 'webhook',
    source: 'github',
  })
  await waitFor(() => rung.length === 2, { what: 'the reports of both rings' })
  t.strictSame(rung[0], {
    v: 1,
    todo_id: row.id,
    endpoint_id: endpoint.endpoint_id,
    rung_at: f.clock.now(),
  })
})

t.test('D2 other queues, other endpoints and other owners hear nothing', async (t) => {
  const f = await setup(t)
  const mine = await f.vend({ queues: ['inbox'] })
  const { user_id } = mine.endpoint
  const sibling = await f.vend({ user_id, queues: ['builds'] })
  const stranger = await f.vend({ queues: ['inbox', 'builds'] })
  const [my_stream, sibling_stream, stranger_stream] = await Promise.all(
    [mine, sibling, stranger].map(({ token }) => openStream(f.mcp_url, token)),
  )
  await f.attached(3)
  ring(f, user_id, todoRow({ queue: 'elsewhere' }))
  const build = todoRow({ queue: 'builds' })
  ring(f, user_id, build)
  const last = await settle(f, user_id, my_stream!)
  t.strictSame(rungIds(my_stream!), [last])
  await waitFor(() => rungIds(sibling_stream!).length > 0, { what: 'the sibling to be rung' })
  t.strictSame(rungIds(sibling_stream!), [build.id])
  const other = await settle(f, stranger.endpoint.user_id, stranger_stream!)
  t.strictSame(rungIds(stranger_stream!), [other])
})

t.test('D3 without a stream a ring is heard by nobody and reported by nobody', async (t) => {
  const f = await setup(t)
  const { token, endpoint } = await f.vend()
  const rung: Rung[] = []
  const subject = subjects.rung(endpoint.user_id, 'inbox')
  subscribeCore(f.bus, subject, {}, Rung, (payload) => rung.push(payload))
  const missed = todoRow()
  ring(f, endpoint.user_id, missed)
  await f.bus.nc.flush()
  const stream = await openStream(f.mcp_url, token)
  await f.attached(1)
  const last = await settle(f, endpoint.user_id, stream)
  t.strictSame(rungIds(stream), [last])
  await waitFor(() => rung.length > 0, { what: 'the report' })
  t.strictSame(
    rung.map(({ todo_id }) => todo_id),
    [last],
  )
})

t.test(
  'D6 two streams of one endpoint, on two replicas: each todo rings one of them',
  async (t) => {
    const f = await setup(t)
    const other = await f.replica()
    const { token, endpoint } = await f.vend()
    const a = await openStream(f.mcp_url, token)
    const b = await openStream(`${other.url}/mcp`, token)
    await f.attached(1)
    await f.attached(1, other)
    const rows = Array.from({ length: 40 }, () => todoRow())
    for (const row of rows) ring(f, endpoint.user_id, row)
    await waitFor(() => rungIds(a).length + rungIds(b).length >= rows.length, {
      what: 'all rings',
    })
    t.strictSame(
      [...rungIds(a), ...rungIds(b)].toSorted(),
      rows.map(({ id }) => id as string).toSorted(),
    )
    t.ok(rungIds(a).length > 0 && rungIds(b).length > 0, 'both were rung at some time')
  },
)

t.test(
  'D7 an attach rings the three that waited longest, and not again within a minute',
  async (t) => {
    const f = await setup(t)
    const { token, endpoint } = await f.vend({ tools: ['claim_next'] })
    const waiting = Array.from({ length: 5 }, (_, i) => todoRow({ title: `number ${i}` }))
    const elsewhere = todoRow({ queue: 'ungranted' })
    f.tasks.on(
      oldestPending,
      (_ctx, { limit }): OutputOf<typeof oldestPending> => ({
        todos: [elsewhere, ...waiting].slice(0, limit),
      }),
    )
    const ids = waiting.map(({ id }) => id)
    const first = await openStream(f.mcp_url, token)
    await first.until(CHANNEL, 3)
    const marker = await settle(f, endpoint.user_id, first)
    t.strictSame(rungIds(first), [...ids.slice(0, 3), marker])
    first.close()
    await f.attached(0)

    f.clock.advance(59_000)
    const again = await openStream(f.mcp_url, token)
    await again.until(CHANNEL, 2)
    const second_marker = await settle(f, endpoint.user_id, again)
    t.strictSame(rungIds(again), [...ids.slice(3), second_marker])
    again.close()
    await f.attached(0)

    f.clock.advance(1_001)
    const later = await openStream(f.mcp_url, token)
    await later.until(CHANNEL, 3)
    t.strictSame(rungIds(later), ids.slice(0, 3))
  },
)

t.test('an attach works when nobody can say what waits', async (t) => {
  const f = await setup(t)
  const { token, endpoint } = await f.vend()
  await f.tasks.stop()
  const stream = await openStream(f.mcp_url, token)
  await f.attached(1)
  const last = await settle(f, endpoint.user_id, stream)
  t.strictSame(rungIds(stream), [last])
})

t.test('D4 a client that stops reading holds up nobody', async (t) => {
  const f = await setup(t)
  const user_id = newUserId()
  const stalled = await f.vend({ user_id })
  const reader = await f.vend({ user_id })
  // Headers are read, the body never: the socket fills up.
  const response = await fetch(f.mcp_url, {
    headers: { authorization: `Bearer ${stalled.token}`, accept: 'text/event-stream' },
  })
  const stream = await openStream(f.mcp_url, reader.token)
  await f.attached(2)
  const title = 'x'.repeat(30_000)
  const rows = Array.from({ length: 400 }, () => todoRow({ title }))
  for (const row of rows) ring(f, user_id, row)
  await waitFor(() => rungIds(stream).length === rows.length, {
    what: 'the one who reads to hear all',
    timeout_ms: 30_000,
  })
  t.strictSame(
    rungIds(stream),
    rows.map(({ id }) => id),
  )
  await response.body?.cancel()
})

t.test(
  'B10 an edit of the default lease reaches all streams of that endpoint and no other',
  async (t) => {
    const f = await setup(t)
    const other = await f.replica()
    const { token, endpoint } = await f.vend()
    const stranger = await f.vend()
    const streams = [
      await openStream(f.mcp_url, token),
      await openStream(`${other.url}/mcp`, token),
    ]
    const strange = await openStream(f.mcp_url, stranger.token)
    await f.attached(2)
    const edited = await f.edit(endpoint, { default_lease_ttl_seconds: 2_700 })
    for (const stream of streams) await stream.until(TOOLS_CHANGED)
    const describe = async (bearer: string): Promise<string[]> => {
      const { body } = await post(f.mcp_url, request('tools/list'), { token: bearer })
      const { result } = body as { result: { tools: { description: string }[] } } // a failure fails the assertion
      return result.tools.slice(0, 3).map(({ description }) => description)
    }
    for (const text of await describe(token)) t.match(text, '2700')
    for (const text of await describe(stranger.token)) t.match(text, '300')
    await settle(f, stranger.endpoint.user_id, strange)
    t.strictSame(
      strange.messages.filter(({ method }) => method === TOOLS_CHANGED),
      [],
    )

    await f.edit(edited, { queues: ['inbox', 'builds'] })
    for (const stream of streams) {
      await stream.until(RESOURCES_CHANGED)
      t.equal(stream.messages.filter(({ method }) => method === TOOLS_CHANGED).length, 1)
    }
    const build = todoRow({ queue: 'builds' })
    ring(f, endpoint.user_id, build)
    await waitFor(() => streams.some((stream) => rungIds(stream).includes(build.id)), {
      what: 'a ring of the queue that was added',
    })
  },
)

t.test(
  'C9 revocation ends the streams within a second, on every replica, and then answers 401',
  async (t) => {
    const f = await setup(t)
    const other = await f.replica()
    const vended = await f.vend()
    const survivor = await f.vend()
    const stays = await openStream(f.mcp_url, survivor.token)
    const streams = [
      await openStream(f.mcp_url, vended.token),
      await openStream(`${other.url}/mcp`, vended.token),
      await listen(f.mcp_url, vended.token, { toolsListChanged: true }),
    ]
    await f.attached(3)
    const started = performance.now()
    await f.revoke(vended)
    await Promise.all(streams.map(({ ended }) => ended))
    t.ok(performance.now() - started < 1_000)
    for (const url of [f.mcp_url, `${other.url}/mcp`]) {
      t.equal((await post(url, request('ping'), { token: vended.token })).status, 401)
    }
    t.equal(stays.open, true)
  },
)

t.test('C9 an endpoint that expires loses its streams, too', async (t) => {
  const f = await setup(t)
  const expires_at = new Date(f.clock.now() + 60_000).toISOString()
  const { token } = await f.vend({ expires_at })
  const stream = await openStream(f.mcp_url, token)
  await f.attached(1)
  f.clock.advance(60_000)
  await stream.ended
  t.equal((await post(f.mcp_url, request('ping'), { token })).status, 401)
})

t.test('a rotated credential loses its streams, the endpoint keeps working', async (t) => {
  const f = await setup(t)
  const vended = await f.vend()
  const stream = await openStream(f.mcp_url, vended.token)
  await f.attached(1)
  await f.identity.put(credentialKey(vended.token), {
    v: 1,
    kind: 'endpoint',
    endpoint_id: vended.endpoint.endpoint_id,
    revoked: true,
  })
  await stream.ended
  t.equal((await post(f.mcp_url, request('ping'), { token: vended.token })).status, 401)
})

t.test('a listen stream hears what it asked for and nothing else', async (t) => {
  const f = await setup(t)
  const { token, endpoint } = await f.vend({ queues: ['inbox', 'builds'] })
  const filter = { resourceSubscriptions: ['guildhall://queues/inbox'] }
  const plain = await listen(f.mcp_url, token, filter)
  await f.attached(1)
  t.strictSame((await plain.until('notifications/subscriptions/acknowledged'))[0]?.params, {
    _meta: { 'io.modelcontextprotocol/subscriptionId': 'sub-1' },
    notifications: filter,
  })
  ring(f, endpoint.user_id, todoRow({ queue: 'builds' }))
  await f.edit(endpoint, { default_lease_ttl_seconds: 600 })
  ring(f, endpoint.user_id, todoRow())
  await plain.until(UPDATED)
  t.strictSame(plain.messages.slice(1), [
    {
      jsonrpc: '2.0',
      method: UPDATED,
      params: {
        uri: 'guildhall://queues/inbox',
        _meta: { 'io.modelcontextprotocol/subscriptionId': 'sub-1' },
      },
    },
  ])
  plain.close()
  await f.attached(0)

  const experimental = { 'claude/channel': {} }
  const channel = await listen(f.mcp_url, token, filter, { experimental })
  await f.attached(1)
  const row = todoRow()
  ring(f, endpoint.user_id, row)
  const [heard] = await channel.until(CHANNEL)
  t.match(heard?.params, {
    meta: { todo_id: row.id },
    _meta: { 'io.modelcontextprotocol/subscriptionId': 'sub-1' },
  })
})

t.test(
  'a filter that is none is refused, and one that asks for nothing ends at once',
  async (t) => {
    const f = await setup(t)
    const { token } = await f.vend()
    const bad = [undefined, [], { toolsListChanged: 'yes' }, { resourceSubscriptions: [1] }]
    for (const notifications of bad) {
      const { body } = await postModern(f.mcp_url, token, 'subscriptions/listen', { notifications })
      t.match(body, { error: { code: -32_602 } })
    }
    const stream = await listen(f.mcp_url, token, { promptsListChanged: true })
    await stream.ended
    t.equal(stream.messages.length, 2)
    t.match(stream.messages[1], { id: 'sub-1', result: { resultType: 'complete' } })
  },
)

t.test('an endpoint may have 64 streams', async (t) => {
  const f = await setup(t)
  const { token } = await f.vend()
  const streams = await Promise.all(Array.from({ length: 64 }, () => openStream(f.mcp_url, token)))
  await f.attached(64)
  const refused = await openStream(f.mcp_url, token)
  t.equal(refused.status, 429)
  t.equal(refused.headers.get('retry-after'), '30')
  streams[0]?.close()
  await f.attached(63)
  t.equal((await openStream(f.mcp_url, token)).status, 200)
})
