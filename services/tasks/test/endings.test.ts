import t from 'tap'
import { type Bundle, lapse, rejectsWith, setup, stopServer, type Worker } from './setup.ts'

t.teardown(stopServer)

const failOnce = async (s: Bundle, worker: Worker, id: string): Promise<number> => {
  await worker.claim({ id })
  const row = await worker.fail({ id })
  return row.next_retry_at === null ? -1 : (Date.parse(row.next_retry_at) - s.clock.now()) / 1_000
}

t.test('B13 five lapses make a dead letter', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  const { id } = await worker.create()
  for (let i = 0; i < 5; i += 1) {
    await worker.claim({ id })
    await lapse(s, 301)
  }
  t.match(await worker.get(id), {
    state: 'failed',
    dead_letter: true,
    next_retry_at: null,
    attempt: 5,
  })
  t.strictSame(await worker.next(), { empty: true })
})

t.test('B14 retries come after 30, 60, 120 and 240 seconds, then the todo is dead', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  const { id } = await worker.create()
  for (const seconds of [30, 60, 120, 240]) {
    t.equal(await failOnce(s, worker, id), seconds)
    s.clock.advance(seconds * 1_000 - 1)
    await rejectsWith(t, worker.claim({ id }), 'conflict')
    s.clock.advance(1)
  }
  t.equal(await failOnce(s, worker, id), -1)
  t.match(await worker.get(id), { state: 'failed', dead_letter: true, next_retry_at: null })
})

t.test('a due retry shows as pending after the sweep', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  const { id } = await worker.create()
  await failOnce(s, worker, id)
  await lapse(s, 31)
  t.match(await worker.get(id), { state: 'pending', attempt: 1, next_retry_at: null })
})

t.test('B16 release gives the todo back at once, with its attempt counted', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  const { id } = await worker.create()
  await worker.next()
  t.match(await worker.release({ id, summary: 'not mine' }), { state: 'pending', attempt: 1 })
  t.match((await worker.get(id)).attempts, [{ outcome: 'released', summary: 'not mine' }])
  t.match(await worker.next(), { todo: { id, attempt: 2 } })
})

t.test('B17 a retry by hand counts attempts anew and keeps the history', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  const { id } = await worker.create({ payload: { keep: 'me' } })
  for (let i = 0; i < 5; i += 1) {
    await worker.next()
    await lapse(s, 301)
  }
  t.equal((await worker.get(id)).dead_letter, true)
  t.match(await s.human.retry({ id }), { state: 'pending', attempt: 0, dead_letter: false })
  const claimed = await worker.next()
  t.match(claimed, { attempt_seq: 6, todo: { id, attempt: 1, payload: { keep: 'me' } } })
})

t.test(
  'a retry that died after taking the old message away is completed by its repeat',
  async (t) => {
    const s = await setup(t)
    const worker = s.worker()
    const { id } = await worker.create({ payload: { keep: 'me' } })
    await failOnce(s, worker, id)
    await s.human.retry({ id, idempotency_key: 'again' })
    // As if the process had died between its two steps.
    const message = await s.bus.jsm.streams.getMessage('WORK', {
      last_by_subj: `work.${s.owner_id}.inbox.normal.${id}`,
    })
    await s.bus.jsm.streams.deleteMessage('WORK', message.seq)
    t.strictSame(await worker.next(), { empty: true })
    await s.human.retry({ id, idempotency_key: 'again' })
    t.match(await worker.next(), { todo: { id, payload: { keep: 'me' } } })
  },
)

t.test('retry_todo is for humans, or for endpoints that are granted it', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  const { id } = await worker.create()
  await rejectsWith(t, worker.retry({ id }), 'forbidden')
  await rejectsWith(t, s.human.retry({ id }), 'conflict')
  await failOnce(s, worker, id)
  const granted = s.worker({ tools: ['retry_todo'] })
  t.equal((await granted.retry({ id })).state, 'pending')
})

t.test('B20 an artifact that is no https URL is refused and the todo stays claimed', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  const { id } = await worker.create()
  await worker.claim({ id })
  const bad = [
    'file:///etc/passwd',
    'http://a.example/',
    `https://a.example/${'x'.repeat(500)}`,
    'mcp://cairn/',
    'javascript:alert(1)',
  ]
  for (const artifact of bad) {
    await rejectsWith(t, worker.complete({ id, artifact }), 'invalid_argument')
  }
  t.equal((await worker.get(id)).state, 'claimed')
  await worker.complete({ id, artifact: 'mcp://cairn/a1-B_2' })
  t.match((await worker.get(id)).attempts, [{ artifact: 'mcp://cairn/a1-B_2' }])
})

t.test('B21 a summary is cut to 2048 bytes between characters', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  const { id } = await worker.create()
  await worker.claim({ id })
  await worker.complete({ id, summary: `x${'ä'.repeat(1_500)}` })
  const [attempt] = (await worker.get(id)).attempts
  t.equal(Buffer.byteLength(attempt?.summary ?? ''), 2_047)
  t.equal(attempt?.summary_truncated, true)
  t.notMatch(attempt?.summary, /\ufffd/)
})

t.test('B22 after 60 retries by hand 50 attempts are kept', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  const { id } = await worker.create({ max_attempts: 1 })
  for (let i = 0; i < 60; i += 1) {
    await worker.claim({ id })
    await worker.fail({ id })
    if (i < 59) await s.human.retry({ id })
  }
  await s.projected()
  const todo = await worker.get(id, { attempts_limit: 50 })
  t.equal(todo.attempts.length, 50)
  t.strictSame([todo.attempts_pruned, todo.attempts_total], [10, 60])
  t.equal(todo.attempts[0]?.seq, 60)
  t.equal(todo.attempts[49]?.seq, 11)
})

t.test('B23 a sweep racing claims on one lapse closes the attempt once', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  for (let round = 0; round < 20; round += 1) {
    const { id } = await worker.create()
    await worker.claim({ id })
    await s.projected()
    s.clock.advance(301_000)
    await Promise.allSettled([
      s.sweep(),
      s.worker().claim({ id }),
      s.sweep(),
      s.worker().claim({ id }),
    ])
    await s.projected()
    const { attempts } = await worker.get(id)
    const closed = attempts.filter((attempt) => attempt.ended_at !== null)
    t.equal(closed.length, 1)
    t.ok(['reaped', 'lease_expired'].includes(closed[0]?.outcome ?? ''))
  }
})

t.test('the result is stored and shown', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  const { id } = await worker.create()
  await worker.claim({ id })
  await worker.complete({ id, result: { merged: true, n: [1, 2] } })
  t.strictSame((await worker.get(id)).result, { merged: true, n: [1, 2] })
})

t.test('a result over the limit is refused and nothing changes', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  const { id } = await worker.create()
  await worker.claim({ id })
  await rejectsWith(t, worker.complete({ id, result: 'x'.repeat(300_000) }), 'payload_too_large')
  t.equal((await worker.get(id)).state, 'claimed')
})

t.test('text that a database cannot hold is stored without it, and blocks nothing', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  const { id } = await worker.create({ title: 'a\u0000b\ud800c', payload: { x: '\u0000\ud800' } })
  await worker.claim({ id, claimant: 'w\u0000\u001b[31m1' })
  await worker.complete({ id, summary: 's\u0000t', result: { y: '\u0000' } })
  await s.projected()
  t.match((await worker.list()).todos, [{ id, state: 'done' }])
  t.match((await worker.get(id)).attempts, [{ claimant: 'w[31m1', summary: 'st' }])
})
