import { holderName, sha256Hex } from '@guildhall/contracts'
import t from 'tap'
import { lapse, rejectsWith, setup, stopServer } from './setup.ts'

t.teardown(stopServer)

t.test('B1 eight workers draining a queue get every todo once', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  const ids = await Promise.all(Array.from({ length: 60 }, async () => (await worker.create()).id))
  const drained = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const mine: string[] = []
      for (;;) {
        const claimed = await worker.next()
        if (claimed.empty || claimed.todo === undefined) return mine
        mine.push(claimed.todo.id)
      }
    }),
  )
  t.strictSame(drained.flat().sort(), [...ids].sort())
})

t.test('B2 of two claims of one id one wins and the other is a conflict', async (t) => {
  const s = await setup(t)
  const { id } = await s.worker().create()
  const results = await Promise.allSettled([s.worker().claim({ id }), s.worker().claim({ id })])
  t.equal(results.filter((result) => result.status === 'fulfilled').length, 1)
  const lost = results.find((result) => result.status === 'rejected')
  t.equal(lost?.reason.code, 'conflict')
})

t.test('B2 of 100 claims of one id one wins', async (t) => {
  const s = await setup(t)
  const { id } = await s.worker().create()
  const results = await Promise.allSettled(
    Array.from({ length: 100 }, () => s.worker().claim({ id })),
  )
  t.equal(results.filter((result) => result.status === 'fulfilled').length, 1)
})

t.test('B3 an empty queue answers {empty: true}', async (t) => {
  const s = await setup(t)
  t.strictSame(await s.worker().next(), { empty: true })
})

t.test('B4 the oldest comes first, high before normal before low', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  const first = await worker.create({ title: 'first' })
  s.clock.advance(5)
  const second = await worker.create({ title: 'second' })
  const low = await worker.create({ title: 'low', priority: 'low' })
  const high = await worker.create({ title: 'high', priority: 'high' })
  const order: (string | undefined)[] = []
  for (let i = 0; i < 4; i += 1) order.push((await worker.next({ queue: 'inbox' })).todo?.id)
  t.strictSame(order, [high.id, first.id, second.id, low.id])
})

t.test('over several queues the one with the oldest pending item is served', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  const older = await worker.create({ queue: 'reviews' })
  s.clock.advance(10)
  const newer = await worker.create({ queue: 'inbox' })
  t.equal((await worker.next()).todo?.id, older.id)
  t.equal((await worker.next()).todo?.id, newer.id)
  t.strictSame(await worker.next(), { empty: true })
})

t.test('B5 completing what is pending is a conflict and changes nothing', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  const { id } = await worker.create()
  await rejectsWith(t, worker.complete({ id }), 'conflict')
  t.equal((await worker.get(id)).state, 'pending')
})

t.test('B6 the lease follows the call, then the endpoint, then the server', async (t) => {
  const s = await setup(t)
  const table = [
    { endpoint: null, call: undefined, seconds: 300 },
    { endpoint: null, call: 0, seconds: 300 },
    { endpoint: 3600, call: undefined, seconds: 3600 },
    { endpoint: 3600, call: 0, seconds: 3600 },
    { endpoint: 3600, call: 120, seconds: 120 },
    { endpoint: null, call: 900, seconds: 900 },
    { endpoint: null, call: 86_405, seconds: 86_400 },
  ]
  s.clock.set(Math.ceil(s.clock.now() / 1_000) * 1_000)
  for (const { endpoint, call, seconds } of table) {
    const worker = s.worker({ default_lease_ttl_seconds: endpoint })
    const input = call === undefined ? {} : { lease_ttl_seconds: call }
    const expected = `${new Date(s.clock.now() + seconds * 1_000).toISOString().slice(0, 19)}Z`
    const one = await worker.create()
    const claimed = await worker.claim({ id: one.id, ...input })
    t.equal(claimed.lease_expires_at, expected, `claim ${endpoint} ${call}`)
    const beaten = await worker.heartbeat({ id: one.id, ...input })
    t.equal(beaten.lease_expires_at, expected, `heartbeat ${endpoint} ${call}`)
    await worker.complete({ id: one.id })
    await worker.create()
    const next = await worker.next(input)
    t.equal(next.todo?.lease_expires_at, expected, `claim_next ${endpoint} ${call}`)
    await worker.complete({ id: next.todo?.id })
  }
})

t.test('a bare heartbeat never shortens a lease, an explicit one does', async (t) => {
  const s = await setup(t)
  s.clock.set(Math.ceil(s.clock.now() / 1_000) * 1_000)
  const worker = s.worker()
  const { id } = await worker.create()
  const long = await worker.claim({ id, lease_ttl_seconds: 3_600 })
  t.equal((await worker.heartbeat({ id })).lease_expires_at, long.lease_expires_at)
  const shortened = await worker.heartbeat({ id, lease_ttl_seconds: 60 })
  t.equal(Date.parse(shortened.lease_expires_at ?? ''), s.clock.now() + 60_000)
})

t.test('B8 with an unreadable default lease a claim needs its own', async (t) => {
  const s = await setup(t)
  const { id } = await s.worker().create()
  const worker = s.worker()
  delete (worker.principal.scope as { default_lease_ttl_seconds?: unknown })
    .default_lease_ttl_seconds
  await rejectsWith(t, worker.claim({ id }), 'internal')
  t.equal((await worker.get(id)).state, 'pending')
  t.equal((await worker.claim({ id, lease_ttl_seconds: 600 })).state, 'claimed')
})

t.test('B11 a lapsed claim goes back to pending and tells the next worker', async (t) => {
  const s = await setup(t)
  const first = s.worker()
  const second = s.worker()
  const { id } = await first.create()
  await first.claim({ id })
  await lapse(s, 301)
  const after = await second.get(id)
  t.match(after, { state: 'pending', attempt: 1 })
  t.notOk('owner' in after)
  await rejectsWith(t, first.complete({ id }), 'conflict')
  const claimed = await second.next()
  t.match(claimed, { todo: { id, attempt: 2 }, attempt_seq: 2 })
  t.match(claimed.prior_attempts, [
    { seq: 1, died: true, outcome: 'reaped', disposition: 'requeued' },
  ])
})

t.test('B12 a takeover before the sweep closes the old attempt in the same write', async (t) => {
  const s = await setup(t)
  const { id } = await s.worker().create()
  await s.worker().claim({ id })
  s.clock.advance(300_000)
  const second = s.worker()
  await second.claim({ id })
  const { attempts } = await second.get(id)
  t.match(attempts, [
    { seq: 2, ended_at: null },
    { seq: 1, outcome: 'lease_expired', disposition: 'requeued', died: true },
  ])
  t.equal(attempts.filter((attempt) => attempt.ended_at === null).length, 1)
})

t.test('a lease is over at its last moment, not before', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  const { id } = await worker.create()
  await worker.claim({ id, lease_ttl_seconds: 60 })
  s.clock.advance(59_999)
  await rejectsWith(t, s.worker().claim({ id }), 'conflict')
  s.clock.advance(1)
  await rejectsWith(t, worker.heartbeat({ id }), 'conflict')
  t.equal((await s.worker().claim({ id })).attempt, 2)
})

t.test('B18 the fence: a wrong or missing token is a conflict, the right one is not', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  const { id } = await worker.create()
  const first = await worker.claim({ id, require_fence: true })
  await rejectsWith(t, worker.complete({ id }), 'conflict')
  await rejectsWith(t, worker.complete({ id, lease_token: 'AAAAAAAAAAAAAAAAAAAAAA' }), 'conflict')
  s.clock.advance(301_000)
  const second = await worker.claim({ id, require_fence: true })
  t.ok(second.fence > first.fence)
  await rejectsWith(t, worker.complete({ id, lease_token: first.lease_token }), 'conflict')
  t.equal((await worker.get(id)).state, 'claimed')
  t.equal((await worker.complete({ id, lease_token: second.lease_token })).state, 'done')
})

t.test(
  'B18 a token of another claim is refused on an unfenced claim; a human may release',
  async (t) => {
    const s = await setup(t)
    const worker = s.worker()
    const { id } = await worker.create()
    await worker.claim({ id })
    await rejectsWith(t, worker.complete({ id, lease_token: 'AAAAAAAAAAAAAAAAAAAAAA' }), 'conflict')
    t.equal((await s.human.release({ id })).state, 'pending')
  },
)

t.test('an endpoint that is set to require the fence needs the token', async (t) => {
  const s = await setup(t)
  const worker = s.worker({ require_fence: true })
  const { id } = await worker.create()
  const { lease_token } = await worker.claim({ id })
  await rejectsWith(t, worker.heartbeat({ id }), 'conflict')
  t.equal((await worker.heartbeat({ id, lease_token })).state, 'claimed')
})

t.test('B19 a heartbeat after a takeover is a conflict and moves no lease', async (t) => {
  const s = await setup(t)
  const first = s.worker()
  const { id } = await first.create()
  await first.claim({ id })
  s.clock.advance(300_000)
  const taken = await s.worker().claim({ id })
  await rejectsWith(t, first.heartbeat({ id, lease_ttl_seconds: 9_000 }), 'conflict')
  t.equal((await first.get(id)).lease_expires_at, taken.lease_expires_at)
})

t.test('a claim repeated with its key gets the same lease back', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  const { id } = await worker.create()
  const first = await worker.claim({ id, idempotency_key: 'k1' })
  const again = await worker.claim({ id, idempotency_key: 'k1' })
  t.strictSame(again, first)
  await rejectsWith(t, worker.claim({ id, idempotency_key: 'k2' }), 'conflict')
})

t.test('claim_next repeated with its key gets the same todo back, not another', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  await worker.create()
  await worker.create()
  const first = await worker.next({ idempotency_key: 'k1' })
  await s.projected()
  t.strictSame(await worker.next({ idempotency_key: 'k1' }), first)
})

t.test('simultaneous tries of claim_next under one key claim one todo', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  // So many that each try finds one, also while the others hold theirs.
  await Promise.all(Array.from({ length: 40 }, () => worker.create()))
  for (let round = 0; round < 4; round += 1) {
    const idempotency_key = `round-${round}`
    const tries = await Promise.all(
      Array.from({ length: 6 }, () => worker.next({ idempotency_key })),
    )
    for (const one of tries) t.strictSame(one, tries[0], 'the same todo under the same lease')
  }
  await s.projected()
  t.equal((await worker.list({ state: 'claimed' })).todos.length, 4)
})

t.test('a try that noted its todo and died before the claim is finished by the next', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  await worker.create()
  const second = await worker.create()
  const key_hash = sha256Hex(`${holderName(worker.principal)}:k1`)
  await s.tasks.claimKeys.note(key_hash, second.id, { revision: 0 })
  const taken = await worker.next({ idempotency_key: 'k1' })
  t.equal(taken.todo?.id, second.id)
  t.strictSame(await worker.next({ idempotency_key: 'k1' }), taken)
})

t.test('a key whose todo is finished takes another', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  const first = await worker.create()
  const second = await worker.create()
  t.equal((await worker.next({ idempotency_key: 'k1' })).todo?.id, first.id)
  await worker.complete({ id: first.id })
  t.equal((await worker.next({ idempotency_key: 'k1' })).todo?.id, second.id)
})

t.test(
  'complete repeated with its key gets the same answer; with another it is a conflict',
  async (t) => {
    const s = await setup(t)
    const worker = s.worker()
    const { id } = await worker.create()
    await worker.claim({ id })
    const done = await worker.complete({ id, idempotency_key: 'k1', result: { ok: true } })
    t.strictSame(await worker.complete({ id, idempotency_key: 'k1', result: { ok: true } }), done)
    await rejectsWith(t, worker.complete({ id, idempotency_key: 'k2' }), 'conflict')
  },
)

t.test('claim_next waits for work to come', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  const waiting = worker.next({ wait_seconds: 20 })
  await s.bus.nc.flush()
  const started = Date.now()
  const { id } = await worker.create()
  t.equal((await waiting).todo?.id, id)
  t.ok(Date.now() - started < 10_000, 'well before the time is over')
})

t.test('what is not due is not claimable, and is once it is', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  const not_before = new Date(s.clock.now() + 1_500).toISOString()
  const { id } = await worker.create({ not_before })
  t.strictSame(await worker.next(), { empty: true })
  await rejectsWith(t, worker.claim({ id }), 'conflict')
  s.clock.advance(1_500)
  t.equal((await worker.next({ wait_seconds: 10 })).todo?.id, id)
})
