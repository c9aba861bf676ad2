import { createLogger } from '@guildhall/runtime'
import t from 'tap'
import { createSettle } from '../src/settle.ts'

const log = createLogger({ service: 'test', level: 'silent' })

/** A flush that the test ends by hand. */
const manualFlush = () => {
  const ends: (() => void)[] = []
  const flush = () => new Promise<void>((resolve) => ends.push(resolve))
  return { flush, begun: () => ends.length, end: (which: number) => ends[which]?.() }
}

t.test('a commit during a flush is settled by the next one, shared by all who wait', async (t) => {
  const { flush, begun, end } = manualFlush()
  const settle = createSettle(flush, log)
  const settled: string[] = []
  const wait = (name: string) => settle().then(() => settled.push(name))
  const first = wait('first')
  const others = [wait('second'), wait('third')]
  t.equal(begun(), 1)
  end(0)
  await first
  await new Promise(setImmediate)

  t.equal(begun(), 2)
  t.strictSame(settled, ['first'])
  end(1)
  await Promise.all(others)
  t.strictSame(settled, ['first', 'second', 'third'])
})

t.test('a flush that fails says that the change is stored, and spoils no other', async (t) => {
  let broken = true
  const settle = createSettle(async () => {
    if (broken) throw new Error('the bus is down')
  }, log)

  await t.rejects(settle(), { code: 'unavailable', what_to_do: /same idempotency key/ })
  broken = false
  await t.resolves(settle())
})

t.test('nobody waits longer than two seconds', async (t) => {
  const { flush, end } = manualFlush()
  const settle = createSettle(flush, log)
  const started = performance.now()

  await t.rejects(settle(), { code: 'unavailable' })
  const waited_ms = performance.now() - started
  t.ok(waited_ms >= 1_900 && waited_ms < 4_000, `${waited_ms} ms`)
  end(0)
})
