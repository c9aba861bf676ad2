import { type Bus, publishCore, subscribeCore } from '@guildhall/bus'
import { Ring, type Rung, subjects } from '@guildhall/contracts'
import type { Clock, Logger } from '@guildhall/runtime'
import { ringsDropped, ringsWritten } from '../gateway-metrics.ts'
import type { EndpointView } from '../identity/endpoint-view.ts'
import { NotificationStream, type Sink } from './notification-stream.ts'
import type { Subscriber } from './subscriber.ts'

interface AttachedStreamOptions {
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Logger
  readonly endpoint_id: string
  /** What authenticated it: when that ends, the stream ends. */
  readonly credential: string
  readonly subscriber: Subscriber
  readonly sink: Sink
}

/** Heartbeats and stalls are about this process's own time: no clock that may be set. */
const monotonic_ms = (): number => performance.now()

/** One client that listens, with its subscriptions on the bus. */
export class AttachedStream {
  readonly endpoint_id: string
  readonly credential: string
  readonly subscriber: Subscriber
  readonly #options: AttachedStreamOptions
  readonly #stream: NotificationStream
  readonly #bells = new Map<string, { stop(): void }>()

  constructor(options: AttachedStreamOptions) {
    this.endpoint_id = options.endpoint_id
    this.credential = options.credential
    this.subscriber = options.subscriber
    this.#options = options
    this.#stream = new NotificationStream(options.sink, monotonic_ms())
  }

  get closed(): boolean {
    return this.#stream.closed
  }

  /** False when the reader does not keep up and the messages were dropped. */
  tell(messages: readonly string[]): boolean {
    return messages.length === 0 || this.#stream.send(messages, monotonic_ms())
  }

  ring(view: EndpointView, ring: Ring): void {
    const messages = this.subscriber.ringMessages(ring)
    const sent = this.#stream.send(messages, monotonic_ms(), () => this.#report(view, ring))
    if (sent) return
    ringsDropped.inc()
    const fields = { endpoint_id: this.endpoint_id, todo_id: ring.todo_id }
    this.#options.log.debug(fields, 'ring dropped, its stream does not keep up')
  }

  /** Subscribes to the queues that are newly wanted and leaves those that are not any more. */
  hang(view: EndpointView): void {
    const wanted = new Set(this.subscriber.queues(view))
    for (const [queue, bell] of this.#bells) {
      if (wanted.has(queue)) continue
      bell.stop()
      this.#bells.delete(queue)
    }
    for (const queue of wanted) {
      if (!this.#bells.has(queue)) this.#bells.set(queue, this.#subscribe(view, queue))
    }
  }

  tick(): void {
    this.#stream.tick(monotonic_ms())
  }

  /** Takes its bells down. The far end may already be gone. */
  silence(): void {
    for (const bell of this.#bells.values()) bell.stop()
    this.#bells.clear()
  }

  end(farewell?: string): void {
    this.silence()
    this.#stream.end(farewell)
  }

  /**
   * In the queue group of the endpoint, NATS picks exactly one of the endpoint's streams over all
   * replicas: N idle workers do not burn N model turns for one todo.
   */
  #subscribe(view: EndpointView, queue: string): { stop(): void } {
    const { bus } = this.#options
    const subject = subjects.doorbell(view.endpoint.user_id, queue)
    return subscribeCore(bus, subject, { queue: this.endpoint_id }, Ring, (ring) =>
      this.ring(view, ring),
    )
  }

  #report(view: EndpointView, ring: Ring): void {
    const { bus, clock } = this.#options
    ringsWritten.inc()
    const { endpoint_id, user_id } = view.endpoint
    const rung: Rung = { v: 1, todo_id: ring.todo_id, endpoint_id, rung_at: clock.now() }
    publishCore(bus, subjects.rung(user_id, ring.queue), rung)
  }
}
