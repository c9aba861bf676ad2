import type { SealedValue } from '@guildhall/contracts'
import { type KeyRing, keyNamed, newestKey, openBytes, sealBytes } from '@guildhall/runtime'

/**
 * A webhook's secrets at rest. What a value is for is authenticated with it: a sealed value copied
 * to another webhook, or another purpose, does not open.
 */

export interface Sealer {
  seal(plain: string, context: SealContext): SealedValue
  /** Throws where the key is gone, or the value was changed or moved. */
  open(sealed: SealedValue, context: SealContext): string
}

interface SealContext {
  /** The object that it belongs to. */
  readonly id: string
  readonly purpose: 'signing_secret' | 'url_token' | 'answer'
}

const associatedData = ({ id, purpose }: SealContext): Buffer =>
  Buffer.from(`guildhall\0${purpose}\0${id}`)

export const createSealer = (ring: KeyRing): Sealer => {
  const [key_id, key] = newestKey(ring)
  return {
    seal: (plain, context) => ({
      key_id,
      data: sealBytes(key, Buffer.from(plain), associatedData(context)).toString('base64'),
    }),
    open: (sealed, context) =>
      openBytes(
        keyNamed(ring, sealed.key_id),
        Buffer.from(sealed.data, 'base64'),
        associatedData(context),
      ).toString('utf8'),
  }
}
