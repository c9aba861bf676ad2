import t from 'tap'
import { newLoginLink } from '../src/first-owner.ts'
import { sweep } from '../src/sweeper.ts'
import { addressBucket, admitAttempt } from '../src/throttle.ts'
import { setup, tableRows } from './setup.ts'

const HOUR_MS = 3_600_000

t.test('what no decision depends on any more is forgotten, and nothing else', async (t) => {
  const s = await setup(t)
  const make = async (name: string): Promise<void> => {
    await newLoginLink(s.db, 'ann', new Date(s.clock.now()))
    await admitAttempt(s.deps, [addressBucket(name)])
    await s.vend({}, name)
  }
  const counts = () =>
    tableRows(
      s.db,
      `select (select count(*) from login_links) as links,
         (select count(*) from login_attempts) as attempts,
         (select count(*) from idempotent_calls) as calls`,
    )
  await make('first')
  s.clock.advance(25 * HOUR_MS)
  await make('second')

  await sweep(s.db, s.clock)
  t.strictSame(await counts(), [{ links: 2, attempts: 1, calls: 1 }])
  s.clock.advance(8 * 24 * HOUR_MS)
  await sweep(s.db, s.clock)
  t.strictSame(await counts(), [{ links: 0, attempts: 0, calls: 0 }])
})

t.test('events that cannot come again any more are forgotten', async (t) => {
  const s = await setup(t, { start: false })
  await tableRows(
    s.db,
    `insert into inbox (consumer, event_id, received_at) values
       ('c', 'old', now() - interval '61 days'), ('c', 'kept', now() - interval '59 days')`,
  )
  await sweep(s.db, s.clock)

  t.strictSame(await tableRows(s.db, 'select event_id from inbox'), [{ event_id: 'kept' }])
})
