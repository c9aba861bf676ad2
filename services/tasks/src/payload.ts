import { CLAIM_PAYLOAD_INLINE_MAX_BYTES, PAYLOAD_PAGE_BYTES } from '@guildhall/contracts'

/** How a body that may be anything becomes the `payload` of a claim. */

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\b/i
const FORM_TYPE = /^application\/x-www-form-urlencoded\b/i

const tryJson = (text: string): { value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

const tryText = (data: Uint8Array): string | undefined => {
  try {
    return utf8.decode(data)
  } catch {
    return undefined
  }
}

const asIs = (content_type: string, data: Uint8Array, text: string | undefined) =>
  text === undefined
    ? { content_type, encoding: 'base64', body: Buffer.from(data).toString('base64') }
    : { content_type, encoding: 'utf8', body: text }

/**
 * JSON as JSON, whatever it was labelled; a form with a `payload` field (GitHub's other content
 * type) as the JSON inside it; anything else as `{content_type, encoding, body}`, byte for byte.
 */
export const readPayload = (content_type: string, data: Uint8Array): unknown => {
  if (data.length === 0) return null
  const text = tryText(data)
  if (text !== undefined && FORM_TYPE.test(content_type)) {
    const inner = new URLSearchParams(text).get('payload')
    const parsed = inner === null ? undefined : tryJson(inner)
    return parsed === undefined ? asIs(content_type, data, text) : parsed.value
  }
  if (text !== undefined && (JSON_TYPE.test(content_type) || /^\s*[[{]/.test(text))) {
    const parsed = tryJson(text)
    if (parsed !== undefined) return parsed.value
  }
  return asIs(content_type, data, text)
}

export const isInline = (payload_size: number): boolean =>
  payload_size <= CLAIM_PAYLOAD_INLINE_MAX_BYTES

interface PayloadPage {
  readonly encoding: 'utf8' | 'base64'
  readonly body: string
  readonly next_offset: number | null
}

const isContinuation = (byte: number | undefined): boolean =>
  byte !== undefined && (byte & 0xc0) === 0x80

/** One page of the raw bytes. Pages of text end between characters, so that each can be read alone. */
export const payloadPage = (data: Uint8Array, offset: number): PayloadPage => {
  let end = Math.min(data.length, offset + PAYLOAD_PAGE_BYTES)
  const next = () => (end >= data.length ? null : end)
  if (tryText(data) === undefined || isContinuation(data[offset])) {
    const body = Buffer.from(data.subarray(offset, end)).toString('base64')
    return { encoding: 'base64', body, next_offset: next() }
  }
  while (end < data.length && end > offset && isContinuation(data[end])) end -= 1
  return {
    encoding: 'utf8',
    body: Buffer.from(data.subarray(offset, end)).toString('utf8'),
    next_offset: next(),
  }
}
