/** A piece of a body as JSON can carry it: text where it is text, base64 where it is not. */

interface PayloadPage {
  readonly payload: string
  readonly payload_encoding: 'utf8' | 'base64'
  readonly next_payload_offset: number | null
}

const decode = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

const CONTINUATION = 0b1000_0000
const isContinuation = (byte: number): boolean => (byte & 0b1100_0000) === CONTINUATION

/** How many bytes at the end belong to a character that the cut left incomplete. */
const brokenTail = (bytes: Uint8Array): number => {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0
    if (isContinuation(byte)) continue
    const needed = byte >= 0b1111_0000 ? 4 : byte >= 0b1110_0000 ? 3 : byte >= 0b1100_0000 ? 2 : 1
    return needed > back ? back : 0
  }
  return 0
}

export const payloadPage = (bytes: Uint8Array, offset: number, size: number): PayloadPage => {
  const cut = offset + bytes.length < size ? brokenTail(bytes) : 0
  const whole = bytes.subarray(0, bytes.length - cut)
  const text = decode(whole)
  const shown = text === undefined ? bytes : whole
  const next = offset + shown.length
  return {
    payload: text ?? Buffer.from(bytes).toString('base64'),
    payload_encoding: text === undefined ? 'base64' : 'utf8',
    next_payload_offset: next < size ? next : null,
  }
}
