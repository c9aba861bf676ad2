import t from 'tap'
import { rejectsWith, setup, stopServer } from './setup.ts'

t.teardown(stopServer)

t.test(
  'B24 a list of 57 todos of 18 KB stays small; only a claim returns the payload',
  async (t) => {
    const s = await setup(t)
    const worker = s.worker()
    const payload = { body: 'x'.repeat(18_000) }
    await Promise.all(Array.from({ length: 57 }, () => worker.create({ payload })))
    await s.projected()
    const list = await worker.list({ state: 'pending', limit: 200 })
    t.equal(list.todos.length, 57)
    t.ok(JSON.stringify(list).length < 40_000)
    for (const todo of list.todos) {
      t.notOk('payload' in todo)
      t.equal(todo.payload_size, 18_011)
    }
    const claimed = await worker.next()
    t.strictSame(claimed.todo?.payload, payload)
    const id = claimed.todo?.id
    t.notOk('payload' in (await worker.heartbeat({ id })))
    t.notOk('payload' in (await worker.complete({ id })))
  },
)

t.test('B25 a limit above 200 is an error that says so', async (t) => {
  const s = await setup(t)
  const error = await rejectsWith(t, s.worker().list({ limit: 500 }), 'invalid_argument')
  t.match(error.message, /limit.*200/)
})

t.test('pages follow each other without a gap or a repeat', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  for (let i = 0; i < 25; i += 1) await worker.create({ title: `todo ${i}` })
  await s.projected()
  const titles: string[] = []
  let cursor: string | undefined
  do {
    const page = await worker.list({ limit: 10, ...(cursor === undefined ? {} : { cursor }) })
    titles.push(...page.todos.map((todo) => todo.title))
    cursor = page.next_cursor
  } while (cursor !== undefined)
  t.equal(new Set(titles).size, 25)
  t.equal(titles.length, 25)
  await rejectsWith(t, worker.list({ cursor: 'nonsense' }), 'invalid_argument')
})

t.test('C3 a queue outside the grant is forbidden before anything changes', async (t) => {
  const s = await setup(t)
  const owner = s.worker({ queues: ['secret'] })
  const { id } = await owner.create({ queue: 'secret' })
  const other = s.worker({ queues: ['inbox'] })
  await rejectsWith(t, other.list({ queue: 'secret' }), 'forbidden')
  await rejectsWith(t, other.next({ queue: 'secret' }), 'forbidden')
  await rejectsWith(t, other.claim({ id }), 'forbidden')
  await rejectsWith(t, other.create({ queue: 'secret' }), 'forbidden')
  await rejectsWith(t, other.get(id), 'not_found')
  t.equal((await owner.get(id)).attempts_total, 0)
})

t.test(
  'C4 another owner with the same queue name sees nothing, and cannot tell foreign from unknown',
  async (t) => {
    const mine = await setup(t)
    const theirs = await setup(t)
    const { id } = await mine.worker().create()
    await mine.projected()
    const stranger = theirs.worker()
    const unknown = 'td_00000000-0000-8000-8000-000000000000'
    t.strictSame(await stranger.list(), { todos: [] })
    t.strictSame(await stranger.next(), { empty: true })
    t.strictSame(await stranger.oldest(3), { todos: [] })
    const verbs = ['get', 'claim', 'heartbeat', 'complete', 'fail', 'release'] as const
    for (const verb of verbs) {
      const call = (todo: string) =>
        verb === 'get' ? stranger.get(todo) : stranger[verb]({ id: todo })
      const foreign = await rejectsWith(t, call(id), 'not_found')
      const absent = await rejectsWith(t, call(unknown), 'not_found')
      t.strictSame(foreign.toBody('r'), absent.toBody('r'))
    }
    t.equal((await mine.worker().get(id)).attempts_total, 0)
  },
)

t.test(
  'create_todo repeated with its key makes one todo; with other arguments it is refused',
  async (t) => {
    const s = await setup(t)
    const worker = s.worker()
    const first = await worker.create({ idempotency_key: 'k', payload: { n: 1 } })
    const again = await worker.create({ idempotency_key: 'k', payload: { n: 1 } })
    t.strictSame({ ...again, created: true }, first)
    t.equal(again.created, false)
    await rejectsWith(
      t,
      worker.create({ idempotency_key: 'k', payload: { n: 2 } }),
      'idempotency_conflict',
    )
    await worker.next()
    t.strictSame(await worker.next(), { empty: true })
  },
)

t.test(
  'the projection takes an item once however often and in whatever order it is told',
  async (t) => {
    const s = await setup(t)
    const worker = s.worker()
    const { id } = await worker.create()
    await worker.claim({ id })
    const entry = await s.tasks.records.loadFresh(s.owner_id, id)
    await worker.complete({ id })
    await s.projected()
    const { project } = await import('../src/store/projection.ts')
    if (entry === undefined) throw new Error('no record')
    await project(s.db, [{ record: entry.value, revision: entry.revision }])
    t.match((await worker.list()).todos, [{ id, state: 'done' }])
    t.match((await worker.get(id)).attempts, [{ seq: 1, outcome: 'completed' }])
  },
)
