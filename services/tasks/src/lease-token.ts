import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { sha256Hex } from '@guildhall/contracts'

/**
 * A lease token is derived, not drawn: from the item, the number of the claim and the caller's key,
 * under a key that all replicas share. So a repeated claim gets its token again although only its
 * hash is stored.
 */

const TOKEN_BYTES = 16

export const leaseToken = (
  key: Buffer,
  todo_id: string,
  attempt_seq: number,
  claim_key: string,
): string =>
  createHmac('sha256', key)
    .update(`${todo_id}:${attempt_seq}:${claim_key}`)
    .digest()
    .subarray(0, TOKEN_BYTES)
    .toString('base64url')

export const hashOf = (text: string): string => sha256Hex(text)

/** Compares hashes of equal length, in constant time. */
export const matchesHash = (token: string, hash: string | undefined): boolean => {
  if (hash === undefined) return false
  const expected = Buffer.from(hash, 'hex')
  const given = createHash('sha256').update(token).digest()
  return expected.length === given.length && timingSafeEqual(expected, given)
}
