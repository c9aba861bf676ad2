import { ServiceError } from '@guildhall/contracts'
import type { Kv } from './kv.ts'

/** Each lost compare-and-set means that somebody else wrote the same key meanwhile. */
const TRIES_MAX = 64

interface Versioned {
  readonly version: number
}

const isNewer = (next: Versioned, present: Versioned): boolean => next.version > present.version

/**
 * Writes an entry that may only move forward: what comes late, or twice, changes nothing. So a
 * bucket can be filled from outbox rows and by a reconciler, in any order. True: the bucket changed.
 */
export const advanceKv = async <T>(
  kv: Kv<T>,
  key: string,
  next: T,
  supersedes: (next: T, present: T) => boolean,
): Promise<boolean> => {
  for (let tried = 0; tried < TRIES_MAX; tried += 1) {
    const present = await kv.get(key)
    if (present !== undefined && !supersedes(next, present.value)) return false
    const revision =
      present === undefined
        ? await kv.create(key, next)
        : await kv.update(key, next, present.revision)
    if (revision !== undefined) return true
  }
  throw new ServiceError('unavailable', `the bucket ${kv.bucket} is being written too often`)
}

/** The usual case: records that carry a version of their own. */
export const advanceVersion = <T extends Versioned>(
  kv: Kv<T>,
  key: string,
  next: T,
): Promise<boolean> => advanceKv(kv, key, next, isNewer)
