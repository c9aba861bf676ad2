import { createTodo, streams, UNSENT_AFTER_MS } from '@guildhall/contracts'
import t from 'tap'
import { handleCreateTodo } from '../src/operations/create-todo.ts'
import { type Bundle, lapse, setup, stopServer, type Worker } from './setup.ts'

t.teardown(stopServer)

/** Runs create_todo up to the moment between its two writes, where `then` happens instead or first. */
const createUpTo = async (
  s: Bundle,
  worker: Worker,
  payload: unknown,
  before_message: () => Promise<void>,
) => {
  const lanes = {
    ...s.tasks.lanes,
    ensure: async (lane: Parameters<typeof s.tasks.lanes.ensure>[0]) => {
      await before_message()
      await s.tasks.lanes.ensure(lane)
    },
  }
  const input = createTodo.input.parse({ queue: 'inbox', title: 'a todo', payload })
  return await handleCreateTodo({ ...s.tasks, lanes })(
    {
      principal: worker.principal,
      request_id: 'r1',
      idempotency_key: 'k1',
      repeat: false,
      deadline_ms: Date.now() + 60_000,
    },
    input,
  )
}

const killed = async (): Promise<void> => {
  throw new Error('killed between record and message')
}

const messages = async (s: Bundle): Promise<number> => {
  const info = await s.bus.jsm.streams.info(streams.work, {
    subjects_filter: `work.${s.owner_id}.>`,
  })
  return Object.keys(info.state.subjects ?? {}).length
}

t.test('a todo without a payload, whose creator died before its message, is sent', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  await t.rejects(createUpTo(s, worker, undefined, killed))
  t.strictSame(await worker.next(), { empty: true })
  await lapse(s, UNSENT_AFTER_MS / 1_000)
  t.match(await worker.next(), { empty: false, todo: { title: 'a todo', payload: null } })
})

t.test(
  'a todo whose payload died with its creator is taken back, and can be made anew',
  async (t) => {
    const s = await setup(t)
    const worker = s.worker()
    await t.rejects(createUpTo(s, worker, { n: 1 }, killed))
    await s.projected()
    t.equal((await worker.list()).todos.length, 1)
    await lapse(s, UNSENT_AFTER_MS / 1_000 - 1)
    t.equal((await worker.list()).todos.length, 1, 'not yet')
    await lapse(s, 1)
    t.strictSame((await worker.list()).todos, [])
    const made = await createUpTo(s, worker, { n: 1 }, async () => undefined)
    t.equal(made.created, true)
    await lapse(s, UNSENT_AFTER_MS / 1_000)
    t.match(await worker.next(), { todo: { id: made.id, payload: { n: 1 } } })
  },
)

t.test('a repeat before that sends the todo, and the sweep leaves it alone', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  await t.rejects(createUpTo(s, worker, { n: 1 }, killed))
  await s.projected()
  s.clock.advance(UNSENT_AFTER_MS)
  const made = await createUpTo(s, worker, { n: 1 }, () => s.sweep())
  t.equal(made.created, false)
  await lapse(s, UNSENT_AFTER_MS / 1_000)
  t.match(await worker.next(), { todo: { id: made.id, payload: { n: 1 } } })
})

t.test('a creator that was only slow finds its todo taken back and makes it again', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  const made = await createUpTo(s, worker, { n: 1 }, async () => {
    await lapse(s, UNSENT_AFTER_MS / 1_000)
    t.strictSame((await worker.list()).todos, [], 'taken back meanwhile')
  })
  t.equal(made.created, true)
  await lapse(s, UNSENT_AFTER_MS / 1_000)
  t.equal(await messages(s), 1)
  t.match((await worker.list()).todos, [{ id: made.id }])
  t.match(await worker.next(), { todo: { id: made.id, payload: { n: 1 } } })
})

t.test('a todo that was sent is never taken back, however long it waits', async (t) => {
  const s = await setup(t)
  const worker = s.worker()
  const { id } = await worker.create({ payload: { n: 1 } })
  await lapse(s, 86_400)
  t.match(await worker.next(), { todo: { id, payload: { n: 1 } } })
})
