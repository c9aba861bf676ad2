import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/**
 * Sealing at rest: AES-256-GCM under a named key of a ring. The first key seals, all of them open,
 * so that a key is replaced by putting a new one in front. What a value is for is authenticated
 * with it (the associated data), so a sealed value that is moved elsewhere does not open there.
 */

const ALGORITHM = 'aes-256-gcm'
export const KEY_BYTES = 32
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

/** The key that seals, with its name. */
export const newestKey = (ring: KeyRing): readonly [string, Buffer] => {
  const [newest] = ring
  if (newest === undefined) throw new Error('the key ring is empty')
  return newest
}

export const keyNamed = (ring: KeyRing, key_id: string): Buffer => {
  const key = ring.get(key_id)
  if (key === undefined) throw new Error(`the key ring has no key "${key_id}"`)
  return key
}

/** nonce | ciphertext | tag */
export const sealBytes = (key: Buffer, plain: Uint8Array, associated: Uint8Array): Buffer => {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, key, nonce)
  cipher.setAAD(associated)
  const encrypted = [cipher.update(plain), cipher.final()]
  return Buffer.concat([nonce, ...encrypted, cipher.getAuthTag()])
}

/** Throws where the value was changed, cut, or sealed for something else. */
export const openBytes = (key: Buffer, sealed: Buffer, associated: Uint8Array): Buffer => {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) throw new Error('the sealed value is cut short')
  const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
  decipher.setAAD(associated)
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
  const plain = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES))
  try {
    decipher.final()
  } catch (error) {
    // Bytes that did not prove to be ours are nobody's to see.
    plain.fill(0)
    throw error
  }
  return plain
}
