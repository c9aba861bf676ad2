import { isUtf8 } from 'node:buffer'

/** Why a body is no JSON that we read. `message` may go to the caller. */
export class BadJson extends Error {
  override readonly name = 'BadJson'
}

/** JSON.stringify recurses: what nests deeper than this is refused before anything walks it. */
const JSON_DEPTH_MAX = 128

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPENING = new Set([0x5b, 0x7b])
const CLOSING = new Set([0x5d, 0x7d])

const nestsTooDeep = (bytes: Uint8Array): boolean => {
  let depth = 0
  let in_string = false
  for (let i = 0; i < bytes.length; i += 1) {
    const byte = bytes[i]
    if (byte === undefined) break
    if (in_string) {
      if (byte === BACKSLASH) i += 1
      else if (byte === QUOTE) in_string = false
    } else if (byte === QUOTE) in_string = true
    else if (OPENING.has(byte)) {
      depth += 1
      if (depth > JSON_DEPTH_MAX) return true
    } else if (CLOSING.has(byte)) depth -= 1
  }
  return false
}

/**
 * JSON.parse makes `__proto__` an ordinary own property, and nothing here copies keys by
 * assignment, so no body can reach a prototype.
 */
export const parseJsonBody = (bytes: Buffer): unknown => {
  if (!isUtf8(bytes)) throw new BadJson('the body is not UTF-8')
  if (nestsTooDeep(bytes)) throw new BadJson(`the body nests deeper than ${JSON_DEPTH_MAX} levels`)
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    throw new BadJson('the body is not valid JSON')
  }
}
