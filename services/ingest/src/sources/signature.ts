import { createHmac, timingSafeEqual } from 'node:crypto'
import { sha256Hex } from '@guildhall/contracts'

/** What the signature schemes have in common. */

export const hmacSha256 = (key: string | Uint8Array, ...parts: (string | Uint8Array)[]): Buffer => {
  const hmac = createHmac('sha256', key)
  for (const part of parts) hmac.update(part)
  return hmac.digest()
}

const HEX_SHA256 = /^[0-9a-f]{64}$/i

/** The 32 bytes of a hex digest, or undefined where it is none. */
export const readHexDigest = (text: string): Buffer | undefined =>
  HEX_SHA256.test(text) ? Buffer.from(text, 'hex') : undefined

const BASE64_SHA256 = /^[A-Za-z0-9+/]{43}=$/

export const readBase64Digest = (text: string): Buffer | undefined =>
  BASE64_SHA256.test(text) ? Buffer.from(text, 'base64') : undefined

/**
 * Whether any expected digest equals any given one. Every pair is compared, each in constant time,
 * so that the time taken tells nothing about which one came near.
 */
export const anyMatches = (expected: readonly Buffer[], given: readonly Buffer[]): boolean => {
  let matches = false
  for (const mine of expected) {
    for (const theirs of given) {
      if (mine.length === theirs.length && timingSafeEqual(mine, theirs)) matches = true
    }
  }
  return matches
}

/** Compares secrets of unequal length without telling the length: by their hashes. */
export const equalSecrets = (mine: Uint8Array, theirs: Uint8Array): boolean =>
  timingSafeEqual(hmacSha256('compare', mine), hmacSha256('compare', theirs))

const UNIX_SECONDS = /^[0-9]{1,12}$/

/** A positive number of seconds since the epoch, or undefined. */
export const readUnixSeconds = (text: string): number | undefined => {
  if (!UNIX_SECONDS.test(text)) return undefined
  const seconds = Number(text)
  return seconds > 0 ? seconds : undefined
}

/** Both directions, the boundary included; whole seconds, as the providers' own libraries do. */
export const withinSeconds = (
  seconds: number,
  now_ms: number,
  tolerance_seconds: number,
): boolean => Math.abs(Math.floor(now_ms / 1_000) - seconds) <= tolerance_seconds

export const bodyHash = (body: string | Uint8Array): string => `sha256:${sha256Hex(body)}`

const ID_MAX_BYTES = 256
// Printable ASCII: what every store and header takes as it is.
const PLAIN_ID = /^[\x21-\x7e]+$/

/** An id that a sender made, where it can be used as one. */
export const usableId = (value: unknown): string | undefined =>
  typeof value === 'string' && value.length <= ID_MAX_BYTES && PLAIN_ID.test(value)
    ? value
    : undefined
