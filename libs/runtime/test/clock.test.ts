import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { clockFrom, steadyClock } from '../src/index.ts'

t.test('a steady clock ignores a wall clock that jumps, in either direction', async (t) => {
  let wall = 1_000_000
  let monotonic = 0
  const jumps: number[] = []
  const clock = steadyClock(
    { now: () => wall },
    (ms) => jumps.push(ms),
    () => monotonic,
  )
  const pass = (ms: number): void => {
    wall += ms
    monotonic += ms
  }
  pass(5_000)
  t.equal(clock.now(), 1_005_000)
  wall += 600_000
  t.equal(clock.now(), 1_005_000)
  pass(1_000)
  t.equal(clock.now(), 1_006_000)
  wall -= 1_200_000
  t.equal(clock.now(), 1_006_000)
  t.strictSame(jumps, [600_000, -600_000], 'each jump is reported once')
})

t.test('a steady clock takes over a time that another authority agrees on', async (t) => {
  let wall = 1_000
  const clock = steadyClock({ now: () => wall }, undefined, () => 0)
  wall += 60_000
  t.equal(clock.now(), 1_000)
  clock.adopt(61_000)
  t.equal(clock.now(), 61_000)
})

t.test('the offset file shifts the clock, but never in production', async (t) => {
  const file = join(mkdtempSync(join(tmpdir(), 'clock-')), 'offset')
  writeFileSync(file, '86400000')
  const shifted = clockFrom({ NODE_ENV: 'test', CLOCK_OFFSET_FILE: file })
  t.teardown(() => shifted.close())
  t.ok(shifted.now() - Date.now() > 86_000_000)
  const production = clockFrom({ NODE_ENV: 'production', CLOCK_OFFSET_FILE: file })
  t.ok(Math.abs(production.now() - Date.now()) < 1_000)
})
