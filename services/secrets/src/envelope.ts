import { randomBytes } from 'node:crypto'
import type { SecretScope } from '@guildhall/contracts'
import {
  KEY_BYTES,
  type KeyRing,
  keyNamed,
  newestKey,
  openBytes,
  sealBytes,
} from '@guildhall/runtime'

/**
 * Envelope encryption: each value under a data key of its own, the data key under a master key. So
 * a master key is replaced by wrapping data keys anew, without touching a value, and no key ever
 * encrypts more than one thing too often. Where a value belongs is authenticated with both: a row
 * that is copied to another owner, scope, name or version opens nowhere.
 *
 * Buffers with keys and values are zeroed once they were used. That narrows the time in which a
 * memory dump holds them; strings made from a value, as for a header, end with the collector.
 */

export interface SecretContext {
  readonly user_id: number
  readonly scope_type: SecretScope
  readonly scope_id: number
  readonly name: string
  readonly version: number
}

export interface WrappedKey {
  readonly master_key_id: string
  readonly wrapped_key: Buffer
}

export interface SealedSecret extends WrappedKey {
  readonly sealed: Buffer
}

export interface Vault {
  seal(value: string, context: SecretContext): SealedSecret
  /** The plain value; whoever asked zeroes it. Throws where the key is gone or the row was changed. */
  open(secret: SealedSecret, context: SecretContext): Buffer
  /** The same data key under the newest master key. */
  rewrap(key: WrappedKey, context: SecretContext): WrappedKey
  readonly newest_key_id: string
  has(master_key_id: string): boolean
}

const associated = (
  purpose: 'value' | 'data-key',
  { user_id, scope_type, scope_id, name, version }: SecretContext,
): Buffer =>
  // No part can hold a NUL, so no two contexts give the same bytes.
  Buffer.from(
    ['guildhall', 'secret', purpose, user_id, scope_type, scope_id, name, version].join('\0'),
  )

export const createVault = (ring: KeyRing): Vault => {
  const [newest_key_id, newest] = newestKey(ring)

  const wrap = (data_key: Buffer, context: SecretContext): WrappedKey => ({
    master_key_id: newest_key_id,
    wrapped_key: sealBytes(newest, data_key, associated('data-key', context)),
  })

  const unwrapped = <T>(
    { master_key_id, wrapped_key }: WrappedKey,
    context: SecretContext,
    use: (data_key: Buffer) => T,
  ): T => {
    const master_key = keyNamed(ring, master_key_id)
    const data_key = openBytes(master_key, wrapped_key, associated('data-key', context))
    try {
      return use(data_key)
    } finally {
      data_key.fill(0)
    }
  }

  return {
    newest_key_id,
    has: (master_key_id) => ring.has(master_key_id),
    seal: (value, context) => {
      const plain = Buffer.from(value, 'utf8')
      const data_key = randomBytes(KEY_BYTES)
      try {
        const sealed = sealBytes(data_key, plain, associated('value', context))
        return { ...wrap(data_key, context), sealed }
      } finally {
        plain.fill(0)
        data_key.fill(0)
      }
    },
    open: (secret, context) =>
      unwrapped(secret, context, (data_key) =>
        openBytes(data_key, secret.sealed, associated('value', context)),
      ),
    rewrap: (key, context) => unwrapped(key, context, (data_key) => wrap(data_key, context)),
  }
}
