import { buckets, streams, workKey } from '@guildhall/contracts'
import t from 'tap'
import { reconcileOnce } from '../src/reconcilers/reconcile.ts'
import { forgetOnce } from '../src/reconcilers/retention.ts'
import { setup } from './setup.ts'

t.test('a whole system has nothing to reconcile', async (t) => {
  const s = await setup(t, { own_server: true })
  const worker = s.worker()
  await worker.create({ payload: { a: 1 } })
  await worker.next()
  await worker.create()
  await s.projected()
  t.match(await reconcileOnce(s.tasks), {
    checked: 2,
    records_restored: 0,
    messages_restored: 0,
    reprojected: 0,
    without_payload: 0,
  })
})

t.test('lost messages, records and rows come back, and the work can be done', async (t) => {
  const s = await setup(t, { own_server: true })
  const worker = s.worker()
  const one = await worker.create({ title: 'one', payload: { n: 1 } })
  const two = await worker.create({ title: 'two', payload: { n: 2 } })
  await worker.claim({ id: two.id })
  await s.projected()
  await s.bus.jsm.streams.purge(streams.work, { filter: `work.${s.owner_id}.>` })
  await s.bus.jsm.streams.purge(`KV_${buckets.work}`, {
    filter: `$KV.${buckets.work}.${workKey(s.owner_id, two.id)}`,
  })
  await s.db('todos').where({ id: one.id }).update({ revision: 0, state: 'failed' })
  const report = await reconcileOnce(s.tasks)
  t.match(report, { records_restored: 1, messages_restored: 2, without_payload: 0 })
  // The restored record is projected by this or by the consumer, whoever comes first.
  t.ok(report.reprojected >= 1)
  const first = await worker.next()
  const second = await worker.next()
  t.strictSame([first.todo?.payload, second.todo?.payload], [{ n: 1 }, { n: 2 }])
  t.match(await reconcileOnce(s.tasks), { records_restored: 0, messages_restored: 0 })
})

t.test('what was finished 30 days ago is forgotten, what is alive is not', async (t) => {
  const s = await setup(t, { own_server: true })
  const worker = s.worker()
  const done = await worker.create()
  const alive = await worker.create()
  await worker.claim({ id: done.id })
  await worker.complete({ id: done.id })
  await s.projected()
  s.clock.advance(29 * 86_400_000)
  t.equal(await forgetOnce(s.tasks), 0)
  s.clock.advance(2 * 86_400_000)
  t.equal(await forgetOnce(s.tasks), 1)
  t.equal(await s.tasks.records.loadFresh(s.owner_id, done.id), undefined)
  t.match((await worker.list()).todos, [{ id: alive.id }])
})
