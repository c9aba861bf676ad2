import {
  type callWithSecret,
  type InputOf,
  SECRET_CALL_BODY_MAX_BYTES,
  ServiceError,
} from '@guildhall/contracts'
import { CALL_HEADERS_MAX, CALL_HEADERS_MAX_BYTES, CALL_PATH_MAX_BYTES } from '../limits.ts'
import { parseTarget, type Target } from './target.ts'

/** A call as the agent wrote it, checked, with the places where the secret goes. */
export interface Template {
  readonly method: string
  readonly target: Target
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly placeholder: RegExp
  /** Where a server redirects to is the server's text: what looks like a placeholder there is none. */
  readonly fill_query: boolean
}

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/
/** As it may stand in a message: visible ASCII, blanks only inside. */
const HEADER_VALUE = /^([\u0021-\u007e]([\u0020-\u007e\t]*[\u0021-\u007e])?)?$/

/**
 * What belongs to the connection or to us. A range would let an agent read an answer in pieces that
 * are too small for the secret in it to be recognised.
 */
const RESERVED = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'if-range',
  'keep-alive',
  'range',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

const isReserved = (name: string): boolean => RESERVED.has(name) || name.startsWith('proxy-')

const invalid = (message: string): ServiceError => new ServiceError('invalid_argument', message)

const checkHeaders = (given: Readonly<Record<string, string>>): Record<string, string> => {
  const entries = Object.entries(given)
  if (entries.length > CALL_HEADERS_MAX) throw invalid(`headers: more than ${CALL_HEADERS_MAX}`)
  const headers: Record<string, string> = Object.create(null)
  let bytes = 0
  for (const [given_name, value] of entries) {
    const name = given_name.toLowerCase()
    if (!HEADER_NAME.test(name)) throw invalid('headers: a name has characters it must not have')
    if (isReserved(name)) throw invalid(`headers: ${name} is not yours to set`)
    if (name in headers) throw invalid(`headers: ${name} is there twice`)
    if (!HEADER_VALUE.test(value)) throw invalid(`headers: ${name} is not one line of ASCII`)
    headers[name] = value
    bytes += name.length + value.length
  }
  if (bytes > CALL_HEADERS_MAX_BYTES) {
    throw invalid(`headers: longer than ${CALL_HEADERS_MAX_BYTES} bytes`)
  }
  return headers
}

const tooLarge = (): ServiceError =>
  new ServiceError(
    'payload_too_large',
    `body: more than ${SECRET_CALL_BODY_MAX_BYTES} bytes, the secret included`,
  )

/** `name` is upper case; how the placeholder spells it does not matter, as with every name. */
export const readTemplate = (
  { method, url, headers: given = {}, body }: InputOf<typeof callWithSecret>,
  name: string,
  extra_ports: readonly number[],
): Template => {
  const target = parseTarget(url, extra_ports)
  const headers = checkHeaders(given)
  if (body !== undefined && Buffer.byteLength(body) > SECRET_CALL_BODY_MAX_BYTES) throw tooLarge()
  const once = new RegExp(`\\{\\{${name}\\}\\}`, 'i')
  const places = [target.query, ...Object.values(headers), body ?? '']
  if (!places.some((place) => once.test(place))) {
    throw invalid(`{{${name}}} is in no header, nor in the query or the body`)
  }
  return {
    method,
    target,
    headers,
    body,
    placeholder: new RegExp(once.source, 'gi'),
    fill_query: true,
  }
}

export interface FilledRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
}

/** Puts the value in. It is taken as it is, but for the query, where it must be escaped. */
export const fillTemplate = (
  { target, headers, body, placeholder, fill_query }: Template,
  name: string,
  value: string,
): FilledRequest => {
  // A function: in a replacement text, `$&` and the like would mean something.
  const fill = (text: string) => text.replace(placeholder, () => value)
  const filled: Record<string, string> = Object.create(null)
  for (const [header, text] of Object.entries(headers)) {
    filled[header] = fill(text)
    if (!HEADER_VALUE.test(filled[header])) {
      throw invalid(`headers: the value of ${name} is not one line of ASCII, as a header must be`)
    }
  }
  const query = fill_query
    ? target.query.replace(placeholder, () => encodeURIComponent(value))
    : target.query
  const path = `${target.path}${query}`
  if (path.length > CALL_PATH_MAX_BYTES) {
    throw invalid(`url: longer than ${CALL_PATH_MAX_BYTES} bytes, the secret included`)
  }
  const bytes = body === undefined ? undefined : Buffer.from(fill(body), 'utf8')
  if (bytes !== undefined && bytes.length > SECRET_CALL_BODY_MAX_BYTES) throw tooLarge()
  return { path, headers: filled, body: bytes }
}

/** The next hop of a redirect, as RFC 9110 15.4 and what every client does say. */
export const redirected = (from: Template, status: number, target: Target): Template => {
  const next = { ...from, target, fill_query: false }
  const { method, headers } = from
  const becomesGet =
    status === 303 ? method !== 'GET' : (status === 301 || status === 302) && method === 'POST'
  if (!becomesGet) return next
  const kept = Object.entries(headers).filter(([name]) => !name.startsWith('content-'))
  return { ...next, method: 'GET', body: undefined, headers: Object.fromEntries(kept) }
}
