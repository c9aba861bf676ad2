import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { SealedValue } from '@guildhall/contracts'

/**
 * Secrets at rest: AES-256-GCM under a named key of a ring. The first key seals, all of them open,
 * so that a key is replaced by putting a new one in front. What a value is for is authenticated
 * with it: a sealed value copied to another webhook, or another purpose, does not open.
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

const ALGORITHM = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const KEY_ID = /^[A-Za-z0-9_-]{1,32}$/
const BASE64_32_BYTES = /^[A-Za-z0-9+/]{43}=$/

export type KeyRing = ReadonlyMap<string, Buffer>

/** `k1:<base64 of 32 bytes>[,k0:…]`. Throws on anything else, without repeating it. */
export const parseKeyRing = (text: string): KeyRing => {
  const ring = new Map<string, Buffer>()
  for (const [index, entry] of text.split(',').entries()) {
    const [id = '', key = '', ...more] = entry.trim().split(':')
    const where = `key ${index + 1} of the ring`
    if (!KEY_ID.test(id)) throw new Error(`${where} has no usable name (form: name:base64)`)
    if (more.length > 0 || !BASE64_32_BYTES.test(key)) {
      throw new Error(`${where} is not the base64 of ${KEY_BYTES} bytes`)
    }
    if (ring.has(id)) throw new Error(`${where} has the name of an earlier one`)
    ring.set(id, Buffer.from(key, 'base64'))
  }
  return ring
}

const associatedData = ({ id, purpose }: SealContext): Buffer =>
  Buffer.from(`guildhall\0${purpose}\0${id}`)

export const createSealer = (ring: KeyRing): Sealer => {
  const [newest] = ring
  if (newest === undefined) throw new Error('the key ring is empty')
  const [key_id, sealing_key] = newest
  return {
    seal: (plain, context) => {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(ALGORITHM, sealing_key, nonce)
      cipher.setAAD(associatedData(context))
      const encrypted = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      const data = Buffer.concat([nonce, encrypted, cipher.getAuthTag()]).toString('base64')
      return { key_id, data }
    },
    open: (sealed, context) => {
      const key = ring.get(sealed.key_id)
      if (key === undefined) throw new Error(`the key ring has no key "${sealed.key_id}"`)
      const bytes = Buffer.from(sealed.data, 'base64')
      if (bytes.length < NONCE_BYTES + TAG_BYTES) throw new Error('the sealed value is cut short')
      const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      })
      decipher.setAAD(associatedData(context))
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
      const encrypted = bytes.subarray(NONCE_BYTES, -TAG_BYTES)
      return Buffer.concat([decipher.update(encrypted), decipher.final()]).toString('utf8')
    },
  }
}
