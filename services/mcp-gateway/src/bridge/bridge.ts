import { setTimeout as delay } from 'node:timers/promises'
import { readEvents } from './event-stream.ts'
import {
  type BridgeId,
  failure,
  isRpcAnswer,
  negotiatedVersion,
  type Outgoing,
  protocolHeaders,
  readOutgoing,
} from './message.ts'

/**
 * Carries messages between a client that speaks over stdio and the gateway, in either era. It adds
 * the credential and the headers, and opens the notification stream that an HTTP client of the
 * older era would open. It decides nothing: what the gateway answers is what the client reads.
 */

const PARSE_ERROR = -32_700
const INTERNAL_ERROR = -32_603

/** Only for requests that were surely not begun: refused connections, 429 and 503. */
const RETRY_WAITS_MS = [250, 1_000, 3_000]
const STREAM_WAIT_FIRST_MS = 500
const STREAM_WAIT_MAX_MS = 30_000
const RETRY_STATUSES = new Set([429, 503])

interface BridgeOptions {
  readonly url: string
  readonly token: string
  /** Writes one line to the client. */
  readonly write: (line: string) => void
  /** Tells the person who set this up; a client shows or keeps stderr. */
  readonly warn: (text: string) => void
}

const isRefused = (error: unknown): boolean => {
  const cause = error instanceof Error ? error.cause : undefined
  return (
    typeof cause === 'object' && cause !== null && 'code' in cause && cause.code === 'ECONNREFUSED'
  )
}

const isEventStream = (response: Response): boolean =>
  response.headers.get('content-type')?.startsWith('text/event-stream') === true

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export class Bridge {
  readonly #options: BridgeOptions
  readonly #in_flight = new Map<BridgeId, AbortController>()
  readonly #closing = new AbortController()
  #negotiated: string | undefined
  #listening = false

  constructor(options: BridgeOptions) {
    this.#options = options
  }

  /** Handles one line of the client. Never rejects. */
  async handle(line: string): Promise<void> {
    if (line.trim() === '') return
    const message = parse(line)
    if (message === undefined) {
      this.#write(failure(null, PARSE_ERROR, 'Parse error: a line must be one JSON message'))
      return
    }
    const outgoing = readOutgoing(message)
    if (outgoing.cancels !== undefined) this.#in_flight.get(outgoing.cancels)?.abort()
    // In the newer era closing the request's stream is the cancellation, and it has no message.
    if (outgoing.cancels !== undefined && this.#negotiated === undefined) return
    await this.#forward(line, outgoing)
    if (outgoing.method === 'notifications/initialized') this.#listen()
  }

  close(): void {
    this.#closing.abort()
    for (const controller of this.#in_flight.values()) controller.abort()
  }

  async #forward(line: string, outgoing: Outgoing): Promise<void> {
    const controller = new AbortController()
    if (outgoing.id !== undefined) this.#in_flight.set(outgoing.id, controller)
    try {
      const response = await this.#post(line, outgoing, controller.signal)
      await this.#relay(response, outgoing)
    } catch (error) {
      // Who cancelled waits for no answer.
      if (controller.signal.aborted || this.#closing.signal.aborted) return
      const reason = error instanceof Error ? String(error.cause ?? error.message) : String(error)
      this.#options.warn(`the gateway cannot be reached: ${reason}`)
      this.#fail(outgoing, 'the gateway cannot be reached', { reason })
    } finally {
      if (outgoing.id !== undefined) this.#in_flight.delete(outgoing.id)
    }
  }

  async #post(body: string, outgoing: Outgoing, signal: AbortSignal): Promise<Response> {
    const headers = {
      ...this.#headers(protocolHeaders(outgoing, this.#negotiated)),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    }
    for (const wait_ms of [...RETRY_WAITS_MS, undefined]) {
      try {
        const response = await fetch(this.#options.url, { method: 'POST', headers, body, signal })
        if (!RETRY_STATUSES.has(response.status) || wait_ms === undefined) return response
        await response.body?.cancel()
      } catch (error) {
        if (!isRefused(error) || wait_ms === undefined) throw error
      }
      await delay(wait_ms, undefined, { signal })
    }
    throw new Error('unreachable: the last try returns or throws')
  }

  async #relay(response: Response, outgoing: Outgoing): Promise<void> {
    if (response.ok && isEventStream(response) && response.body !== null) {
      for await (const data of readEvents(response.body)) this.#writeText(data)
      return
    }
    const text = await response.text()
    if (text === '') return
    const answer = parse(text)
    if (outgoing.method === 'initialize') this.#negotiated = negotiatedVersion(answer)
    if (isRpcAnswer(answer)) {
      // An error that could not name its request: over stdio the client would wait for ever.
      const anonymous = answer.id === null && outgoing.id !== undefined
      this.#write(anonymous ? { ...answer, id: outgoing.id } : answer)
      return
    }
    this.#options.warn(`the gateway answered ${response.status}: ${text.slice(0, 500)}`)
    this.#fail(outgoing, `the gateway answered ${response.status}`, answer)
  }

  #listen(): void {
    if (this.#listening) return
    this.#listening = true
    void this.#followStream()
  }

  /** The stream of notifications of the older era; opened again whenever it ends. */
  async #followStream(): Promise<void> {
    const { signal } = this.#closing
    let wait_ms = STREAM_WAIT_FIRST_MS
    while (!signal.aborted) {
      try {
        const headers = this.#headers(
          this.#negotiated === undefined ? {} : { 'mcp-protocol-version': this.#negotiated },
        )
        const response = await fetch(this.#options.url, {
          headers: { ...headers, accept: 'text/event-stream' },
          signal,
        })
        if (response.ok && response.body !== null) {
          wait_ms = STREAM_WAIT_FIRST_MS
          for await (const data of readEvents(response.body)) this.#writeText(data)
        } else {
          await response.body?.cancel()
          if (!RETRY_STATUSES.has(response.status)) {
            this.#options.warn(`no notifications: the gateway answered ${response.status}`)
            return
          }
        }
        await delay(wait_ms, undefined, { signal })
      } catch {
        if (signal.aborted) return
        await delay(wait_ms)
      }
      wait_ms = Math.min(wait_ms * 2, STREAM_WAIT_MAX_MS)
    }
  }

  #headers(protocol: Record<string, string>): Record<string, string> {
    return { authorization: `Bearer ${this.#options.token}`, ...protocol }
  }

  #fail({ id }: Outgoing, message: string, data?: unknown): void {
    if (id !== undefined) this.#write(failure(id, INTERNAL_ERROR, message, data))
  }

  /** A line break inside an event cannot be passed on: it would end the line. */
  #writeText(text: string): void {
    if (!text.includes('\n')) this.#options.write(text)
    else this.#write(parse(text))
  }

  #write(message: unknown): void {
    if (message !== undefined) this.#options.write(JSON.stringify(message))
  }
}
