import { randomBytes } from 'node:crypto'

/** Which secrets are well formed, and how ours are made. */

const MINTED_BYTES = 32

/** The literal string is the key (GitHub, Gitea). */
export const mintLiteralSecret = (): string => `whsec_${randomBytes(MINTED_BYTES).toString('hex')}`

/** The form of Standard Webhooks: the decoded base64 is the key. */
export const mintStandardSecret = (): string =>
  `whsec_${randomBytes(MINTED_BYTES).toString('base64')}`

const SECRET_MIN_CHARS = 8

/** For providers that take any text as the secret. Its ends are where a paste goes wrong. */
export const checkFreeSecret = (secret: string): string | undefined => {
  if (secret.trim() === '') return 'it is empty'
  if (secret !== secret.trim()) return 'it begins or ends with white space'
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\x00-\x1f\x7f]/.test(secret)) return 'it holds control characters'
  if (secret.length < SECRET_MIN_CHARS) return `it is shorter than ${SECRET_MIN_CHARS} characters`
  return undefined
}

/** For secrets that a provider issues: one printable word. */
export const checkWordSecret = (secret: string): string | undefined =>
  checkFreeSecret(secret) ?? (/^[\x21-\x7e]+$/.test(secret) ? undefined : 'it is not one word')

const STANDARD_PREFIX = 'whsec_'
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
// The bounds of the Standard Webhooks specification.
const KEY_MIN_BYTES = 24
const KEY_MAX_BYTES = 64

/** The key inside a Standard Webhooks secret, or undefined where it is malformed. */
export const standardKey = (secret: string): Buffer | undefined => {
  const text = secret.startsWith(STANDARD_PREFIX) ? secret.slice(STANDARD_PREFIX.length) : secret
  if (!BASE64.test(text)) return undefined
  const key = Buffer.from(text, 'base64')
  return key.length >= KEY_MIN_BYTES && key.length <= KEY_MAX_BYTES ? key : undefined
}
