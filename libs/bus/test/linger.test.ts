import { ManualClock, waitFor } from '@guildhall/testing'
import t from 'tap'
import { consume, durables, publish, type StreamMessage } from '../src/index.ts'
import { log, setup } from './setup.ts'

/** A clock that also tells how often it was looked at, which a consumer does for each message. */
const watchedClock = () => {
  const time = new ManualClock()
  const clock = {
    looked: 0,
    advance: (by_ms: number) => time.advance(by_ms),
    now: () => {
      clock.looked += 1
      return time.now()
    },
  }
  return clock
}

t.test('a lingering consumer waits for a full batch, but not longer than it may', async (t) => {
  const { bus } = await setup(t)
  const clock = watchedClock()
  const batches: number[] = []
  let looked_before = Number.NaN
  let open = (): void => undefined
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  const start = async (linger_ms: number) => {
    const part = consume(bus, {
      stream: 'DELIVERIES',
      durable: durables.ingestHistory,
      log,
      max_in_flight: 10,
      batch: 3,
      linger_ms,
      clock,
      handle: async (messages: readonly StreamMessage[]) => {
        batches.push(messages.length)
        looked_before = clock.looked
        await gate
      },
    })
    await part.start()
    t.teardown(() => part.stop())
    return part
  }
  const send = (text: string) => publish(bus, `deliveries.1.github.${text}`, Buffer.from(text))

  const patient = await start(60_000)
  for (const text of ['a', 'b', 'c']) await send(text)
  await waitFor(() => batches.length === 1, { what: 'the full batch' })
  await send('d')
  await waitFor(() => clock.looked > looked_before, { what: 'the next message to have come in' })
  clock.advance(60_000)
  open()
  await waitFor(() => batches.length === 2, { what: 'the batch whose time is over' })
  const looked_last = clock.looked
  await send('e')
  await waitFor(() => clock.looked > looked_last, { what: 'the last message to have come in' })
  t.strictSame(batches, [3, 1], 'one that is not full waits for more')
  await patient.stop()
  t.strictSame(batches, [3, 1, 1], 'the stop does not wait with it')

  await start(20)
  await send('f')
  await waitFor(() => batches.length === 4, { what: 'the batch that did not become full' })
  t.strictSame(batches, [3, 1, 1, 1])
})
