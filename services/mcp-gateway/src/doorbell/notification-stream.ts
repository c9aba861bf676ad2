import { RING_STREAM_BUFFER } from '@guildhall/contracts'

/** The far end: one HTTP response that stays open. */
export interface Sink {
  /** False: the reader does not keep up; write no more until it has drained. */
  write(text: string): boolean
  onDrain(listener: () => void): void
  onClose(listener: () => void): void
  end(text: string): void
  /** Ends without flushing, for a reader that has stopped reading. */
  destroy(): void
}

const HEARTBEAT_MS = 15_000
/** A reader that takes nothing for this long is gone, whatever its connection says. */
const STALLED_MAX_MS = 60_000

export const sseFrames = (messages: readonly string[]): string =>
  messages.map((message) => `event: message\ndata: ${message}\n\n`).join('')
const HEARTBEAT = ': keep-alive\n\n'

interface Queued {
  readonly text: string
  readonly written: (() => void) | undefined
}

/**
 * Server-sent events to one client. What the socket does not take waits in a small buffer, and what
 * does not fit there is dropped: a ring is a hint, and whoever publishes it must never wait for the
 * slowest reader.
 */
export class NotificationStream {
  readonly #sink: Sink
  readonly #buffer: Queued[] = []
  #stalled_since_ms: number | undefined
  #last_write_ms: number
  #closed = false

  constructor(sink: Sink, now_ms: number) {
    this.#sink = sink
    this.#last_write_ms = now_ms
    sink.onDrain(() => this.#flush())
    sink.onClose(() => {
      this.#closed = true
      this.#buffer.length = 0
    })
  }

  get closed(): boolean {
    return this.#closed
  }

  get buffered(): number {
    return this.#buffer.length
  }

  /** All or none; false when dropped. `written` is called once they have left the buffer. */
  send(messages: readonly string[], now_ms: number, written?: () => void): boolean {
    if (this.#closed) return false
    if (this.#stalled_since_ms === undefined) {
      this.#write(sseFrames(messages), now_ms)
      written?.()
      return true
    }
    if (this.#buffer.length >= RING_STREAM_BUFFER) return false
    this.#buffer.push({ text: sseFrames(messages), written })
    return true
  }

  /** Called about once a second: keeps proxies from closing a quiet stream, and ends dead ones. */
  tick(now_ms: number): void {
    if (this.#closed) return
    if (this.#stalled_since_ms === undefined) {
      if (now_ms - this.#last_write_ms >= HEARTBEAT_MS) this.#write(HEARTBEAT, now_ms)
    } else if (now_ms - this.#stalled_since_ms >= STALLED_MAX_MS) {
      this.#sink.destroy()
    }
  }

  end(last_message?: string): void {
    if (this.#closed) return
    this.#closed = true
    this.#buffer.length = 0
    this.#sink.end(last_message === undefined ? '' : sseFrames([last_message]))
  }

  #write(text: string, now_ms: number): void {
    this.#last_write_ms = now_ms
    if (!this.#sink.write(text)) this.#stalled_since_ms = now_ms
  }

  #flush(): void {
    const now_ms = this.#stalled_since_ms ?? this.#last_write_ms
    this.#stalled_since_ms = undefined
    while (this.#stalled_since_ms === undefined) {
      const next = this.#buffer.shift()
      if (next === undefined) return
      this.#write(next.text, now_ms)
      next.written?.()
    }
  }
}
