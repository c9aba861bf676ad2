import { isUtf8 } from 'node:buffer'
import {
  type callWithSecret,
  type OutputOf,
  SECRET_CALL_SHOWN_MAX_CHARS,
} from '@guildhall/contracts'
import { CHAR_MAX_BYTES, SHOWN_BINARY_MAX_BYTES } from '../limits.ts'
import { decodeBody } from './decode-body.ts'
import type { RawAnswer } from './exchange.ts'
import type { Scrubber } from './scrub.ts'

/** What an agent gets to see of an answer: never the secret, and never half of it. */

type Answer = OutputOf<typeof callWithSecret>
type Body = Pick<Answer, 'body' | 'body_encoding' | 'truncated'>

/**
 * Of the connection, or no longer true of what is shown: a length would tell that of the secret.
 * Cookies are credentials made from it, and no later call of the agent would carry them.
 */
const DROPPED = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'set-cookie',
  'set-cookie2',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

const cleanText = (scrubber: Scrubber, text: string): string | undefined =>
  // What HTTP has in headers is bytes, and that is how the parser hands them out.
  scrubber.scrub(Buffer.from(text, 'latin1'))?.toString('latin1')

const shownHeaders = (
  scrubber: Scrubber,
  headers: RawAnswer['headers'],
): Record<string, string> => {
  const shown = new Map<string, string>()
  for (const [name, value] of headers) {
    if (DROPPED.has(name) || cleanText(scrubber, name) !== name) continue
    const before = shown.get(name)
    shown.set(name, before === undefined ? value : `${before}, ${value}`)
  }
  return Object.fromEntries(
    [...shown].flatMap(([name, value]) => {
      const clean = cleanText(scrubber, value)
      return clean === undefined ? [] : [[name, clean]]
    }),
  )
}

const withheld = (why: string): Body => ({
  body: `[not shown: ${why}]`,
  body_encoding: 'utf8',
  truncated: true,
})

/** Without a character that the end cut through. */
const wholeChars = (bytes: Buffer): Buffer => {
  for (let cut = 0; cut < CHAR_MAX_BYTES; cut += 1) {
    const whole = bytes.subarray(0, Math.max(0, bytes.length - cut))
    if (isUtf8(whole)) return whole
  }
  return bytes
}

const firstChars = (text: string, max: number): string => {
  const cut = text.slice(0, max)
  // Half of a pair at the end.
  return /\p{Surrogate}$/u.test(cut) ? cut.slice(0, -1) : cut
}

const shown = (clean: Buffer, partial: boolean): Body => {
  const bytes = partial ? wholeChars(clean) : clean
  if (isUtf8(bytes)) {
    const text = bytes.toString('utf8')
    const body = firstChars(text, SECRET_CALL_SHOWN_MAX_CHARS)
    return { body, body_encoding: 'utf8', truncated: partial || body.length < text.length }
  }
  return {
    body: bytes.subarray(0, SHOWN_BINARY_MAX_BYTES).toString('base64'),
    body_encoding: 'base64',
    truncated: partial || bytes.length > SHOWN_BINARY_MAX_BYTES,
  }
}

const shownBody = async (scrubber: Scrubber, raw: RawAnswer): Promise<Body> => {
  const decoded = await decodeBody(raw)
  if (decoded === undefined) return withheld('it is packed so that it cannot be searched')
  // Only as much is searched as can matter for what is shown.
  const searched = SECRET_CALL_SHOWN_MAX_CHARS * CHAR_MAX_BYTES + scrubber.longest_bytes
  const partial = !decoded.complete || decoded.bytes.length > searched
  const clean = scrubber.scrub(decoded.bytes.subarray(0, searched))
  if (clean === undefined) return withheld('it cannot be searched in time')
  // The end may hold the beginning of a secret whose rest was cut off.
  return shown(
    partial ? clean.subarray(0, Math.max(0, clean.length - scrubber.longest_bytes)) : clean,
    partial,
  )
}

export const shownAnswer = async (scrubber: Scrubber, raw: RawAnswer): Promise<Answer> => ({
  status: raw.status,
  headers: shownHeaders(scrubber, raw.headers),
  ...(await shownBody(scrubber, raw)),
})
