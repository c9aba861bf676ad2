import t from 'tap'
import { bounded } from '../src/bounded.ts'

t.test('never more runs at once than is allowed, and nothing that waits is lost', async (t) => {
  const run = bounded({ at_once: 2, waiting_max: 100, refusal: 'full' })
  let running = 0
  let most = 0
  const work = async (): Promise<number> => {
    running += 1
    most = Math.max(most, running)
    await new Promise(setImmediate)
    running -= 1
    return 1
  }
  const results = await Promise.all(Array.from({ length: 50 }, () => run(work)))

  t.equal(results.length, 50)
  t.equal(most, 2)
})

t.test('work that fails gives its place back', async (t) => {
  const run = bounded({ at_once: 1, waiting_max: 1, refusal: 'full' })
  const fail = () => run(() => Promise.reject(new Error('broken')))
  await t.rejects(fail(), { message: 'broken' })
  await t.rejects(fail(), { message: 'broken' })

  t.equal(await run(async () => 'done'), 'done')
})

t.test('what finds no place is refused at once', async (t) => {
  const run = bounded({ at_once: 1, waiting_max: 1, refusal: 'full' })
  const ends: (() => void)[] = []
  const held = run(() => new Promise<void>((resolve) => ends.push(resolve)))
  const waiting = run(async () => 'waited')

  await t.rejects(
    run(async () => 'never'),
    { code: 'unavailable', message: 'full' },
  )
  for (const end of ends) end()
  await held
  t.equal(await waiting, 'waited')
})
