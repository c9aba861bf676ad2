import type { LookupAddress } from 'node:dns'
import type { IncomingMessage } from 'node:http'
import { Agent, request as httpsRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import { rootCertificates } from 'node:tls'
import { SECRET_CALL_ANSWER_MAX_BYTES, ServiceError } from '@guildhall/contracts'
import { ANSWER_HEADERS_MAX_BYTES } from '../limits.ts'
import { hostHeader, type Target } from './target.ts'
import type { FilledRequest } from './template.ts'

/**
 * One request and its answer, over a connection of its own to an address that was checked. Nothing
 * that the HTTP client reports leaves this file but a code: its errors can carry bytes of what was
 * sent and received, and so the secret.
 */

export interface RawAnswer {
  readonly status: number
  /** As they came, several of one name included. */
  readonly headers: readonly (readonly [string, string])[]
  /** Still in its content-encoding. */
  readonly body: Buffer
  /** False: there was more of the body than we take. */
  readonly complete: boolean
}

interface ExchangeOptions {
  readonly target: Target
  readonly method: string
  readonly filled: FilledRequest
  readonly addresses: readonly LookupAddress[]
  readonly extra_ca: string
  readonly signal: AbortSignal
  /** From here on the other side may have seen the request. */
  readonly onSent: () => void
}

const OWN_HEADERS = { 'user-agent': 'guildhall', accept: '*/*' }

/** The name is never asked for again: whoever connects gets what was checked. */
const pinned = (addresses: readonly LookupAddress[]): LookupFunction => {
  const [first] = addresses
  return (_host, { all }, callback) => {
    if (all === true) callback(null, [...addresses])
    else if (first !== undefined) callback(null, first.address, first.family)
  }
}

const headerPairs = ({ rawHeaders }: IncomingMessage): [string, string][] => {
  const pairs: [string, string][] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    pairs.push([(rawHeaders[at] ?? '').toLowerCase(), rawHeaders[at + 1] ?? ''])
  }
  return pairs
}

const readBody = async (answer: IncomingMessage): Promise<Pick<RawAnswer, 'body' | 'complete'>> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of answer) {
    const room = SECRET_CALL_ANSWER_MAX_BYTES - bytes
    chunks.push(chunk.subarray(0, room))
    bytes += chunk.length
    // Leaving the loop destroys the connection: whatever else comes is not read.
    if (chunk.length > room) break
  }
  return { body: Buffer.concat(chunks), complete: bytes <= SECRET_CALL_ANSWER_MAX_BYTES }
}

const ERROR_CODE = /^[A-Z0-9_]{1,64}$/

const failure = (error: unknown, sent: boolean): ServiceError => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const shown = ERROR_CODE.test(code) ? code : 'unknown'
  return sent
    ? new ServiceError('unavailable', `the host broke off its answer (${shown})`, {
        what_to_do:
          'The host may have acted on the call. Check there before you make it again, with a new idempotency key.',
      })
    : new ServiceError('unavailable', `the host cannot be reached (${shown})`)
}

const timedOut = (sent: boolean): ServiceError =>
  sent
    ? new ServiceError('deadline_exceeded', 'the host did not answer in time', {
        what_to_do:
          'The outcome is unknown. A repeat with the same idempotency key is not sent again: check at the host, then use a new key.',
      })
    : new ServiceError('unavailable', 'the host could not be reached in time')

export const exchange = async (options: ExchangeOptions): Promise<RawAnswer> => {
  const { target, method, filled, addresses, extra_ca, signal, onSent } = options
  const { path, headers, body } = filled
  let sent = false
  const agent = new Agent({ keepAlive: false, maxCachedSessions: 0 })
  try {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const request = httpsRequest({
        agent,
        host: target.host,
        servername: target.host,
        port: target.port,
        lookup: pinned(addresses),
        method,
        path,
        headers: {
          ...OWN_HEADERS,
          ...headers,
          host: hostHeader(target),
          'accept-encoding': 'gzip, deflate, br',
          ...(body === undefined ? {} : { 'content-length': String(body.length) }),
        },
        maxHeaderSize: ANSWER_HEADERS_MAX_BYTES,
        // Stated, so that no setting of the process can switch it off.
        rejectUnauthorized: true,
        minVersion: 'TLSv1.2',
        ...(extra_ca === '' ? {} : { ca: [...rootCertificates, extra_ca] }),
        signal,
      })
      request.once('socket', (socket) =>
        socket.once('secureConnect', () => {
          sent = true
          onSent()
        }),
      )
      request.once('response', resolve)
      request.on('error', reject)
      // Some ends are no errors to the client, such as a switch to another protocol.
      request.once('close', () => reject(new Error('the connection was closed')))
      request.end(body)
    })
    return {
      status: answer.statusCode ?? 0,
      headers: headerPairs(answer),
      ...(await readBody(answer)),
    }
  } catch (error) {
    throw signal.aborted ? timedOut(sent) : failure(error, sent)
  } finally {
    agent.destroy()
    body?.fill(0)
  }
}
