import t from 'tap'
import { NotificationStream, type Sink } from '../src/doorbell/notification-stream.ts'

/** A far end whose reader can be told to stop reading. */
class SlowSink implements Sink {
  readonly written: string[] = []
  reading = true
  ended: string | undefined
  destroyed = false
  #drain: () => void = () => undefined
  #close: () => void = () => undefined

  write(text: string): boolean {
    this.written.push(text)
    return this.reading
  }
  onDrain(listener: () => void): void {
    this.#drain = listener
  }
  onClose(listener: () => void): void {
    this.#close = listener
  }
  end(text: string): void {
    this.ended = text
  }
  destroy(): void {
    this.destroyed = true
    this.#close()
  }
  resume(): void {
    this.reading = true
    this.#drain()
  }
}

t.test('D4 a reader that stalls holds at most 16 messages and blocks nobody', (t) => {
  const sink = new SlowSink()
  const stream = new NotificationStream(sink, 0)
  sink.reading = false
  let written = 0
  const sent = Array.from({ length: 20 }, (_, i) =>
    stream.send([`{"n":${i}}`], 0, () => {
      written += 1
    }),
  )
  // The first found an empty socket; 16 wait; the rest is dropped.
  t.strictSame(sent, [...Array(17).fill(true), ...Array(3).fill(false)])
  t.equal(stream.buffered, 16)
  t.equal(written, 1, 'what only waits is not reported as written')
  sink.resume()
  t.equal(stream.buffered, 0)
  t.equal(written, 17)
  t.equal(sink.written[16], 'event: message\ndata: {"n":16}\n\n')
  t.equal(stream.send(['{}'], 0), true)
  t.end()
})

t.test('messages of one ring are written together or not at all', (t) => {
  const sink = new SlowSink()
  const stream = new NotificationStream(sink, 0)
  stream.send(['{"a":1}', '{"b":2}'], 0)
  t.strictSame(sink.written, ['event: message\ndata: {"a":1}\n\nevent: message\ndata: {"b":2}\n\n'])
  t.end()
})

t.test('a quiet stream gets a comment every 15 s, a busy one none', (t) => {
  const sink = new SlowSink()
  const stream = new NotificationStream(sink, 0)
  stream.tick(14_999)
  t.strictSame(sink.written, [])
  stream.tick(15_000)
  t.strictSame(sink.written, [': keep-alive\n\n'])
  stream.send(['{}'], 20_000)
  stream.tick(34_999)
  t.equal(sink.written.length, 2)
  stream.tick(35_000)
  t.equal(sink.written.length, 3)
  t.end()
})

t.test('a reader that takes nothing for a minute is given up', (t) => {
  const sink = new SlowSink()
  const stream = new NotificationStream(sink, 0)
  sink.reading = false
  stream.send(['{}'], 0)
  stream.tick(59_999)
  t.equal(sink.destroyed, false)
  stream.tick(60_000)
  t.equal(sink.destroyed, true)
  t.equal(stream.closed, true)
  t.equal(stream.send(['{}'], 60_001), false)
  t.end()
})

t.test('an ended stream says its last message and nothing more', (t) => {
  const sink = new SlowSink()
  const stream = new NotificationStream(sink, 0)
  stream.end('{"bye":true}')
  stream.end()
  stream.tick(99_000)
  t.equal(sink.ended, 'event: message\ndata: {"bye":true}\n\n')
  t.equal(stream.send(['{}'], 0), false)
  t.strictSame(sink.written, [])
  t.end()
})
