import {
  type AnonymousContext,
  type Bus,
  bind,
  bindAnonymous,
  type CallContext,
  connectBus,
  serveOperations,
} from '@guildhall/bus'
import {
  claimCredential,
  type InputOf,
  login,
  type Operation,
  type OutputOf,
  operations,
  ServiceError,
  type ServiceName,
} from '@guildhall/contracts'
import type { Logger, Part } from '@guildhall/runtime'

/** A peer service on the real bus, answering by the real contract what a test tells it to. */

type PeerContext = AnonymousContext & Partial<Pick<CallContext, 'principal'>>

type Answer<Op extends Operation> = (
  ctx: PeerContext,
  input: InputOf<Op>,
) => Promise<OutputOf<Op>> | OutputOf<Op>

interface SeenCall {
  readonly name: string
  readonly input: unknown
  readonly principal: unknown
  readonly idempotency_key: string | undefined
}

/** Called for callers who are nobody yet. */
const anonymous: readonly Operation[] = [login, claimCredential]

export class Peer {
  readonly calls: SeenCall[] = []
  readonly #answers = new Map<string, Answer<Operation>>()
  readonly #options: { url: string; service: ServiceName; log: Logger }
  #bus: Bus | undefined
  #part: Part | undefined

  constructor(options: { url: string; service: ServiceName; log: Logger }) {
    this.#options = options
  }

  on<Op extends Operation>(op: Op, answer: Answer<Op>): void {
    this.#answers.set(op.name, answer as unknown as Answer<Operation>) // found again by its own name
  }

  callsOf(op: Operation): readonly SeenCall[] {
    return this.calls.filter(({ name }) => name === op.name)
  }

  async start(): Promise<void> {
    const { url, service, log } = this.#options
    this.#bus = await connectBus({ url, service, log })
    const own = [...operations, ...anonymous].filter((op: Operation) => op.service === service)
    const bindings = own.map((op: Operation) =>
      anonymous.some(({ name }) => name === op.name)
        ? bindAnonymous(op, (ctx, input) => this.#answer(op, ctx, input))
        : bind(op, (ctx, input) => this.#answer(op, ctx, input)),
    )
    this.#part = serveOperations(this.#bus, bindings, { log })
    await this.#part.start()
  }

  async stop(): Promise<void> {
    await this.#part?.stop()
    await this.#bus?.close()
    this.#part = undefined
    this.#bus = undefined
  }

  async #answer(op: Operation, ctx: PeerContext, input: unknown): Promise<unknown> {
    const { principal, idempotency_key } = ctx
    this.calls.push({ name: op.name, input, principal, idempotency_key })
    const answer = this.#answers.get(op.name)
    if (answer === undefined) throw new ServiceError('not_found', `no answer set for ${op.name}`)
    return answer(ctx, input)
  }
}
