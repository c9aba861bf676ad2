import { createHmac, randomBytes } from 'node:crypto'
import { sha256Hex } from '@guildhall/contracts'

/**
 * Secrets that are shown once. A lost answer must not lose the secret, yet nothing secret may be
 * stored: a call with an idempotency key gets a secret that is computed from that key, a salt that is
 * kept for a day, and a key of this service; a repeat computes it again. Without a key it is random.
 */
const TOKEN_BYTES = 32
const SHOWN_CHARS = 8

type TokenPrefix = 'agt_' | 'gha_'

export interface Token {
  readonly token: string
  readonly sha256: string
  /** Enough to recognise it in a list; leaves more than 200 of its 256 bits unknown. */
  readonly prefix: string
}

export interface TokenMint {
  /** From what belongs to one call alone; undefined: a random one. */
  mint(prefix: TokenPrefix, seed: readonly string[] | undefined): Token
}

const describe = (prefix: TokenPrefix, bytes: Buffer): Token => {
  const token = prefix + bytes.toString('base64url')
  return { token, sha256: sha256Hex(token), prefix: token.slice(0, prefix.length + SHOWN_CHARS) }
}

export const createTokenMint = (key: Buffer): TokenMint => {
  // A JSON array is unambiguous: no two seeds have the same text.
  const hmac = (parts: readonly string[]) =>
    createHmac('sha256', key).update(JSON.stringify(parts)).digest()
  return {
    mint: (prefix, seed) =>
      describe(prefix, seed ? hmac([prefix, ...seed]) : randomBytes(TOKEN_BYTES)),
  }
}

interface LoginToken {
  readonly token: string
  readonly sha256: string
}

export const newLoginToken = (): LoginToken => {
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  return { token, sha256: sha256Hex(token) }
}
