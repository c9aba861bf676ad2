import { finished, type Readable } from 'node:stream'
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
} from 'node:zlib'
import { SECRET_CALL_ANSWER_MAX_BYTES } from '@guildhall/contracts'
import type { RawAnswer } from './exchange.ts'

/**
 * A body as it was before it was compressed, up to what we take: a secret cannot be seen in
 * compressed bytes. It is unpacked as a stream that is left at the limit, so a few bytes that would
 * become gigabytes cost no more than an honest answer.
 */

interface DecodedBody {
  readonly bytes: Buffer
  readonly complete: boolean
}

/** What was cut off is unpacked as far as it goes, without an error at its end. */
const partial = { finishFlush: constants.Z_SYNC_FLUSH }

const ZLIB_METHOD_DEFLATE = 8

/** `deflate` means the zlib format, but bare deflate is sent under that name as well. */
const isZlib = (bytes: Buffer): boolean => ((bytes[0] ?? 0) & 0x0f) === ZLIB_METHOD_DEFLATE

const decompressorFor = (encoding: string, body: Buffer) => {
  if (encoding === 'gzip' || encoding === 'x-gzip') return createGunzip(partial)
  if (encoding === 'br') {
    return createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH })
  }
  if (encoding === 'deflate')
    return isZlib(body) ? createInflate(partial) : createInflateRaw(partial)
  return undefined
}

const collect = async (stream: Readable): Promise<DecodedBody> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream) {
    const room = SECRET_CALL_ANSWER_MAX_BYTES - bytes
    chunks.push(chunk.subarray(0, room))
    bytes += chunk.length
    if (chunk.length > room) break
  }
  return { bytes: Buffer.concat(chunks), complete: bytes <= SECRET_CALL_ANSWER_MAX_BYTES }
}

/** Undefined: packed in a way that we cannot look into, so that nobody may see it. */
export const decodeBody = async ({
  headers,
  body,
  complete,
}: Pick<RawAnswer, 'headers' | 'body' | 'complete'>): Promise<DecodedBody | undefined> => {
  const encoding = headers
    .filter(([name]) => name === 'content-encoding')
    .map(([, value]) => value.trim().toLowerCase())
    .join(',')
  if (encoding === '' || encoding === 'identity') return { bytes: body, complete }
  if (body.length === 0) return { bytes: body, complete }
  const decompressor = decompressorFor(encoding, body)
  if (decompressor === undefined) return undefined
  // Only so that an error after the limit was reached is nobody's surprise.
  finished(decompressor, () => undefined)
  decompressor.end(body)
  try {
    const decoded = await collect(decompressor)
    return { ...decoded, complete: decoded.complete && complete }
  } catch {
    return undefined
  } finally {
    decompressor.destroy()
  }
}
