import type { RequestHeaders } from './sources/source.ts'

/**
 * What is kept of a request's headers. Credentials are replaced, so that the history can be shown
 * to whoever may read it; everything else stays, for it tells how a delivery came to be.
 */

const MARKER = '«redacted»'

const SECRET_NAMES = new Set([
  'cookie',
  'set-cookie',
  'x-api-key',
  'x-webhook-token',
  'authorization',
  'proxy-authorization',
])
const SECRET_PARTS = /signature|token|secret|api-key|apikey|auth|password|credential/

/** Query values like `?token=…`, wherever they stand inside a value. */
const SECRET_QUERY =
  /([?&;](?:[a-z0-9_-]*(?:token|secret|signature|password|api-?_?key|auth)|sig|key|code)=)[^&;\s#"'<>]+/gi
/** `https://user:pass@host` */
const USER_INFO = /(\b[a-z][a-z0-9+.-]*:\/\/)[^/@\s]+@/gi
/** Our own URL, which for a generic webhook is the credential: proxies repeat it in headers. */
const OWN_URL = /(\/webhooks\/w\/)[^/?#\s"'<>]+/gi

const sanitizeValue = (value: string): string =>
  value
    .replace(OWN_URL, `$1${MARKER}`)
    .replace(SECRET_QUERY, `$1${MARKER}`)
    .replace(USER_INFO, `$1${MARKER}@`)

const VALUE_MAX_CHARS = 2_048
/** A message in JetStream has at most 64 KiB of headers, and escaping can make six of one. */
const TOTAL_MAX_BYTES = 32_768

const escapedBytes = (text: string): number => {
  let bytes = 0
  for (const char of text) bytes += char >= ' ' && char < '\u007f' ? 1 : 6
  return bytes
}

/** Headers as they may be stored, in a size that a message can carry. */
export const sanitizeHeaders = (headers: RequestHeaders): Record<string, string> => {
  const kept: Record<string, string> = {}
  let bytes = 0
  let omitted = 0
  for (const [name, value] of Object.entries(headers)) {
    const secret = SECRET_NAMES.has(name) || SECRET_PARTS.test(name)
    const text = secret ? MARKER : sanitizeValue(value.slice(0, VALUE_MAX_CHARS))
    bytes += escapedBytes(name) + escapedBytes(text) + 8
    if (bytes > TOTAL_MAX_BYTES) omitted += 1
    else kept[name] = text
  }
  if (omitted > 0) kept['x-guildhall-omitted-headers'] = String(omitted)
  return kept
}
