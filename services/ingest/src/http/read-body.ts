import type { Readable } from 'node:stream'
import { ServiceError } from '@guildhall/contracts'

/** Reads a body into memory, within a limit of its own and one that all requests share. */

export interface BodyBudget {
  /** False: there is no room now. */
  reserve(bytes: number): boolean
  release(bytes: number): void
}

export const bodyBudget = (max_bytes: number): BodyBudget => {
  let used = 0
  return {
    reserve: (bytes) => {
      if (used + bytes > max_bytes) return false
      used += bytes
      return true
    },
    release: (bytes) => {
      used -= bytes
    },
  }
}

/**
 * What is too long is still read, and thrown away, up to this: a sender that is cut off in the
 * middle of a body sees a broken connection and never the answer that tells it why.
 */
const DISCARDED_MAX_BYTES = 67_108_864

export interface HeldBody {
  readonly bytes: Buffer
  /** To be called once when the bytes are no longer needed. */
  release(): void
}

const tooLarge = (limit: number): ServiceError =>
  new ServiceError('payload_too_large', `the body is larger than ${limit} bytes`)

const busy = (): ServiceError =>
  new ServiceError('unavailable', 'too many large bodies at once', { retry_after_seconds: 5 })

export const readBody = async (
  stream: Readable,
  limit: number,
  budget: BodyBudget,
): Promise<HeldBody> => {
  const chunks: Buffer[] = []
  let held = 0
  let size = 0
  let refusal: ServiceError | undefined
  const letGo = (): void => {
    chunks.length = 0
    budget.release(held)
    held = 0
  }
  try {
    for await (const chunk of stream) {
      const bytes: Buffer = chunk
      size += bytes.length
      if (size > limit) refusal ??= tooLarge(limit)
      else if (refusal === undefined && !budget.reserve(bytes.length)) refusal = busy()
      if (refusal === undefined) {
        chunks.push(bytes)
        held += bytes.length
      } else {
        letGo()
        if (size > limit + DISCARDED_MAX_BYTES) break
      }
    }
  } catch (cause) {
    refusal ??= new ServiceError('invalid_argument', 'the body could not be read', { cause })
  }
  if (refusal !== undefined) {
    letGo()
    throw refusal
  }
  return { bytes: Buffer.concat(chunks, size), release: letGo }
}
