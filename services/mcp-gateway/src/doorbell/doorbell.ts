import type { Bus, Caller } from '@guildhall/bus'
import type { Ring, TodoRow } from '@guildhall/contracts'
import type { Clock, Logger, Part } from '@guildhall/runtime'
import { attachedStreams } from '../gateway-metrics.ts'
import type { EndpointView } from '../identity/endpoint-view.ts'
import type { Identity, IdentityChange } from '../identity/identity.ts'
import { type AttachRinger, createAttachRinger } from './attach-rings.ts'
import { AttachedStream } from './attached-stream.ts'
import type { Sink } from './notification-stream.ts'
import type { Subscriber } from './subscriber.ts'

/** All streams of this replica: who may have one, what they hear of an edit, when they end. */

const TICK_MS = 1_000
const STREAMS_PER_ENDPOINT_MAX = 64
const STREAMS_MAX = 10_000

interface AttachOptions {
  readonly view: EndpointView
  readonly credential: string
  readonly subscriber: Subscriber
  readonly sink: Sink
  /** What the protocol wants on the stream before anything else. */
  readonly greeting?: string
}

interface DoorbellOptions {
  readonly bus: Bus
  readonly caller: Caller
  readonly identity: Identity
  readonly clock: Clock
  readonly log: Logger
}

const ringOf = (row: TodoRow): Ring => ({
  v: 1,
  todo_id: row.id,
  queue: row.queue,
  title: row.title,
  ...(row.kind === undefined ? {} : { kind: row.kind }),
  ...(row.source === undefined ? {} : { source: row.source }),
})

const sameMembers = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((member) => b.includes(member))

/** Whether tools/list, or a number in its texts, reads differently now. */
const toolsDiffer = ({ endpoint: a }: EndpointView, { endpoint: b }: EndpointView): boolean =>
  a.default_lease_ttl_seconds !== b.default_lease_ttl_seconds || !sameMembers(a.tools, b.tools)

const resourcesDiffer = ({ endpoint: a }: EndpointView, { endpoint: b }: EndpointView): boolean =>
  !sameMembers(a.queues, b.queues) || !sameMembers(a.tools, b.tools)

const editMessages = (
  { toolsChanged, resourcesChanged }: Subscriber,
  before: EndpointView,
  after: EndpointView,
): readonly string[] =>
  [
    toolsDiffer(before, after) ? toolsChanged() : undefined,
    resourcesDiffer(before, after) ? resourcesChanged() : undefined,
  ].filter((message) => message !== undefined)

export class Doorbell implements Part {
  readonly name = 'doorbell'
  readonly #options: DoorbellOptions
  readonly #ringer: AttachRinger
  readonly #by_endpoint = new Map<string, Set<AttachedStream>>()
  #count = 0
  #timer: NodeJS.Timeout | undefined
  #unlisten: (() => void) | undefined

  constructor(options: DoorbellOptions) {
    this.#options = options
    this.#ringer = createAttachRinger(options)
  }

  get attached(): number {
    return this.#count
  }

  async start(): Promise<void> {
    this.#unlisten = this.#options.identity.onChange((change) => this.#onChange(change))
    this.#timer = setInterval(() => this.#tick(), TICK_MS)
    this.#timer.unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#unlisten?.()
    for (const stream of this.#all()) this.#close(stream, stream.subscriber.farewell())
  }

  /** To be asked before the response begins: afterwards no status can say so. */
  hasRoom(endpoint_id: string): boolean {
    const own = this.#by_endpoint.get(endpoint_id)?.size ?? 0
    return this.#count < STREAMS_MAX && own < STREAMS_PER_ENDPOINT_MAX
  }

  attach({ view, credential, subscriber, sink, greeting }: AttachOptions): void {
    const { endpoint_id } = view.endpoint
    const { bus, clock, log } = this.#options
    const stream = new AttachedStream({
      bus,
      clock,
      log,
      endpoint_id,
      credential,
      subscriber,
      sink,
    })
    const siblings = this.#by_endpoint.get(endpoint_id) ?? new Set()
    this.#by_endpoint.set(endpoint_id, siblings.add(stream))
    this.#setCount(this.#count + 1)
    sink.onClose(() => this.#forget(stream))
    stream.tell(greeting === undefined ? [] : [greeting])
    // First subscribe, then look: what arrives in between is rung twice rather than never.
    stream.hang(view)
    this.#ringOldest(stream, view).catch((err: unknown) => {
      log.warn({ err, endpoint_id }, 'attached without rings')
    })
  }

  async #ringOldest(stream: AttachedStream, view: EndpointView): Promise<void> {
    const queues = new Set(stream.subscriber.queues(view))
    if (queues.size === 0) return
    for (const row of await this.#ringer.pick(view, queues)) stream.ring(view, ringOf(row))
  }

  #onChange(change: IdentityChange): void {
    if (change.kind === 'credential') {
      for (const stream of this.#all()) {
        if (stream.credential === change.key) this.#closeIfEnded(stream)
      }
      return
    }
    const { before, after } = change
    for (const stream of [...(this.#by_endpoint.get(change.endpoint_id) ?? [])]) {
      if (this.#closeIfEnded(stream) || before === undefined || after === undefined) continue
      stream.hang(after)
      // A client that missed this would go on with a stale list; one that reconnects lists again.
      if (!stream.tell(editMessages(stream.subscriber, before, after))) this.#close(stream)
    }
  }

  /** Expiry brings no message, so it is looked for; each stream's heartbeat comes along. */
  #tick(): void {
    for (const stream of this.#all()) {
      if (!this.#closeIfEnded(stream)) stream.tick()
    }
  }

  #closeIfEnded(stream: AttachedStream): boolean {
    if (this.#options.identity.stillLive(stream.credential) !== undefined) return false
    this.#close(stream)
    return true
  }

  #close(stream: AttachedStream, farewell?: string): void {
    stream.end(farewell)
    this.#forget(stream)
  }

  #forget(stream: AttachedStream): void {
    const siblings = this.#by_endpoint.get(stream.endpoint_id)
    if (siblings?.delete(stream) !== true) return
    if (siblings.size === 0) this.#by_endpoint.delete(stream.endpoint_id)
    stream.silence()
    this.#setCount(this.#count - 1)
  }

  #setCount(count: number): void {
    this.#count = count
    attachedStreams.set(count)
  }

  #all(): readonly AttachedStream[] {
    return [...this.#by_endpoint.values()].flatMap((streams) => [...streams])
  }
}
