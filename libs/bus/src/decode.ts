import { Buffer } from 'node:buffer'
import { ServiceError } from '@guildhall/contracts'
import type { z } from 'zod'

/**
 * Reads what came over the bus. Not JSON, or JSON of another form or version, is the same thing: a
 * message that no repeat will make readable, refused rather than guessed.
 */
export const decode = <T>(schema: z.ZodType<T>, data: Uint8Array | string | undefined): T => {
  const text = typeof data === 'string' ? data : Buffer.from(data ?? []).toString('utf8')
  try {
    return schema.parse(JSON.parse(text))
  } catch (cause) {
    throw new ServiceError('invalid_argument', 'the message is not of a known form and version', {
      cause,
    })
  }
}
