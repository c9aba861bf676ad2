import { steadyClock } from '@guildhall/runtime'
import t from 'tap'
import { followBusClock } from '../src/reconcilers/follow-bus-clock.ts'
import { setup, stopServer } from './setup.ts'

t.teardown(stopServer)

t.test('a replica that starts on a wrong wall clock takes the time of the bus', async (t) => {
  const s = await setup(t)
  if (s.bus.server_version.startsWith('2.9')) {
    t.comment('not checked: nats-server 2.9 does not tell its time')
    return
  }
  for (const off_ms of [600_000, -600_000]) {
    const clock = steadyClock({ now: () => Date.now() + off_ms })
    const part = followBusClock(s.bus, clock, s.tasks.log)
    await part.start()
    await part.stop()
    t.ok(Math.abs(clock.now() - Date.now()) < 1_000)
  }
})

t.test('a small difference is left alone', async (t) => {
  const s = await setup(t)
  const clock = steadyClock({ now: () => Date.now() + 200 }, undefined, () => 0)
  const before = clock.now()
  const part = followBusClock(s.bus, clock, s.tasks.log)
  await part.start()
  await part.stop()
  t.equal(clock.now(), before)
})
