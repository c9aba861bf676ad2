import { buckets, HumanSession, LaneRecord, ServiceError } from '@guildhall/contracts'
import { waitFor } from '@guildhall/testing'
import t from 'tap'
import {
  allStreams,
  applyTopology,
  consume,
  createKv,
  decode,
  durables,
  mirrorKv,
  openBodyStore,
  publish,
  type StreamMessage,
  scanKv,
  verifyTopology,
} from '../src/index.ts'
import { log, setup } from './setup.ts'

t.test('the topology can be applied again and again, and a gap is named', async (t) => {
  const { bus } = await setup(t)
  await Promise.all([applyTopology(bus), applyTopology(bus)])
  await verifyTopology(bus)
  await bus.jsm.streams.delete('DEAD')
  await t.rejects(verifyTopology(bus), /missing stream DEAD/)
  await applyTopology(bus)
  await verifyTopology(bus)
  t.equal(allStreams.length, 15)
})

t.test('what the server cannot change in place stops with the name of the stream', async (t) => {
  const { bus } = await setup(t)
  await bus.jsm.streams.delete('DEAD')
  await bus.jsm.streams.add({ name: 'DEAD', subjects: ['dead.>'], retention: 'workqueue' as never })
  await t.rejects(applyTopology(bus), /stream DEAD cannot be brought to its declared form/)
})

t.test('of 100 compare-and-sets on one revision one wins', async (t) => {
  const { bus } = await setup(t)
  const kv = createKv(bus, buckets.sessions, HumanSession)
  const session = { v: 1 as const, user_id: 1, csrf_token_hash: 'x', created_at: 1, expires_at: 2 }
  const created = await Promise.all(Array.from({ length: 100 }, () => kv.create('k', session)))
  const [revision = 0, ...others] = created.filter((each) => each !== undefined)
  t.equal(others.length, 0)
  const updated = await Promise.all(
    Array.from({ length: 100 }, (_, user) =>
      kv.update('k', { ...session, user_id: user + 1 }, revision),
    ),
  )
  t.equal(updated.filter((each) => each !== undefined).length, 1)
  await kv.delete('k')
  t.equal(await kv.get('k'), undefined)
  t.type(await kv.create('k', session), 'number')
  t.strictSame((await kv.get('k'))?.value, session)
})

t.test(
  'a mirror follows its bucket through an outage and refuses what it cannot read',
  async (t) => {
    const { bus, nats, connect } = await setup(t)
    const kv = createKv(bus, buckets.lanes, LaneRecord)
    await kv.put('1.a.normal', { v: 1 })
    const mirror = mirrorKv(await connect('ingest'), buckets.lanes, LaneRecord, { log })
    t.notOk(mirror.ready())
    await mirror.start()
    t.teardown(() => mirror.stop())
    t.ok(mirror.ready())
    t.strictSame([...mirror.entries()], [['1.a.normal', { v: 1 }]])
    await nats.kill()
    await nats.restart()
    await waitFor(async () => await kv.put('1.b.normal', { v: 1 }), { what: 'the bus' })
    await waitFor(async () => mirror.get('1.b.normal'), {
      what: 'the new entry',
      timeout_ms: 20_000,
    })
    await publish(bus, '$KV.lanes.1.a.normal', { v: 2 })
    await waitFor(async () => mirror.get('1.a.normal') === undefined, { what: 'the refusal' })
    const scanned: string[] = []
    for await (const { key, value } of scanKv(bus, buckets.lanes, LaneRecord)) {
      scanned.push(`${key} ${value === undefined ? 'unreadable' : 'ok'}`)
    }
    t.strictSame(scanned.sort(), ['1.a.normal unreadable', '1.b.normal ok'])
  },
)

t.test('a subject that must be new takes one message', async (t) => {
  const { bus } = await setup(t)
  const results = await Promise.all(
    Array.from({ length: 20 }, () =>
      publish(bus, 'deliveries.1.github.x', Buffer.from('b'), { expect_new_subject: true }),
    ),
  )
  t.equal(results.filter((each) => !each.duplicate).length, 1)
})

t.test('bodies beyond a message come back byte for byte', async (t) => {
  const { bus } = await setup(t)
  const store = openBodyStore(bus)
  const body = Buffer.alloc(9 * 1024 * 1024, 7)
  await store.put('b1', body)
  t.ok(body.equals(Buffer.from((await store.get('b1')) ?? [])))
  t.equal(await store.get('none'), undefined)
  await store.delete('b1')
  t.equal(await store.get('b1'), undefined)
})

t.test('a consumer acks, retries, buries and goes on after an outage', async (t) => {
  const { bus, nats } = await setup(t)
  const handled: string[] = []
  const failing = new Set(['retry'])
  const part = consume(bus, {
    stream: 'DELIVERIES',
    durable: durables.ingestHistory,
    log,
    max_in_flight: 10,
    batch: 5,
    handle: async (messages: readonly StreamMessage[]) => {
      for (const { data } of messages) {
        const text = Buffer.from(data).toString()
        if (text === 'poison') throw new ServiceError('invalid_argument', 'not readable')
        if (failing.delete(text)) throw new Error('once')
        handled.push(text)
      }
    },
  })
  await part.stop()
  await part.start()
  for (const text of ['one', 'poison', 'retry', 'two']) {
    await publish(bus, `deliveries.1.github.${text}`, Buffer.from(text))
  }
  await waitFor(async () => ['one', 'retry', 'two'].every((text) => handled.includes(text)), {
    what: 'all but the poison',
  })
  const dead = await bus.jsm.streams.info('DEAD', { subjects_filter: 'dead.>' })
  t.equal(Object.keys(dead.state.subjects ?? {}).length, 1)
  // Before the kill: what a killed server forgot of its acknowledgements comes once more.
  await waitFor(
    async () =>
      (await bus.jsm.consumers.info('DELIVERIES', durables.ingestHistory)).num_ack_pending === 0,
    { what: 'all to be acknowledged' },
  )
  await nats.kill()
  await nats.restart()
  await waitFor(async () => await publish(bus, 'deliveries.1.github.three', Buffer.from('three')), {
    what: 'the bus',
  })
  await waitFor(async () => handled.includes('three'), { what: 'the third', timeout_ms: 40_000 })
  await part.stop()
  await part.stop()
})

t.test(
  'what fails for an unknown reason is retried, and then buried with its own headers only',
  async (t) => {
    const { bus } = await setup(t)
    const tries: number[] = []
    const part = consume(bus, {
      stream: 'DELIVERIES',
      durable: durables.ingestHistory,
      log,
      max_in_flight: 10,
      deliveries_max: 3,
      handle: async ([message]) => {
        tries.push(message?.delivery_count ?? 0)
        throw new TypeError('a fault of ours')
      },
    })
    await part.start()
    t.teardown(() => part.stop())
    await publish(bus, 'deliveries.1.github.broken', Buffer.from('body'), {
      expect_new_subject: true,
      headers: { 'Gh-Delivery': '"kept"' },
    })
    const subject = 'dead.0.ingest-history.deliveries_1_github_broken-1'
    const letter = await waitFor(
      async () => await bus.jsm.streams.getMessage('DEAD', { last_by_subj: subject }),
      { what: 'the dead letter' },
    )
    t.strictSame(tries, [1, 2, 3])
    t.equal(letter.string(), 'body')
    t.equal(letter.header.get('Gh-Delivery'), '"kept"')
    t.match(letter.header.get('Gh-Reason'), /internal/)
    t.notOk([...letter.header.keys()].some((name) => /^nats-/i.test(name)))
  },
)

t.test('a dependency that is down is waited for, not buried', async (t) => {
  const { bus } = await setup(t)
  let tries = 0
  const part = consume(bus, {
    stream: 'DELIVERIES',
    durable: durables.ingestHistory,
    log,
    max_in_flight: 10,
    deliveries_max: 2,
    handle: async () => {
      tries += 1
      if (tries <= 3) throw new ServiceError('unavailable', 'the database is down')
    },
  })
  await part.start()
  t.teardown(() => part.stop())
  await publish(bus, 'deliveries.1.github.patient', Buffer.from('body'))
  await waitFor(async () => tries === 4, { what: 'the fourth try' })
  t.equal((await bus.jsm.streams.info('DEAD')).state.messages, 0)
})

t.test('what is not JSON and what is of another version are refused alike', async (t) => {
  for (const text of ['{', 'null', '{"v":2}', undefined]) {
    t.throws(() => decode(LaneRecord, text), { code: 'invalid_argument' })
  }
  t.strictSame(decode(LaneRecord, Buffer.from('{"v":1}')), { v: 1 })
})
