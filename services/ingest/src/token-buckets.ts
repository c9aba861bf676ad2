import type { Clock } from '@guildhall/runtime'

/** Token buckets by key, in memory: each replica allows the rate, which bounds what one can take. */

export interface Rate {
  readonly per_second: number
  readonly burst: number
}

interface Bucket {
  tokens: number
  filled_at: number
}

export interface TokenBuckets {
  /** Undefined when there was a token, which is then gone; else the seconds until there is one. */
  take(key: string): number | undefined
}

export const KEYS_MAX = 50_000

export const tokenBuckets = (rate: Rate, clock: Clock, keys_max = KEYS_MAX): TokenBuckets => {
  // In order of last use, which a Map keeps: the oldest is forgotten first, as a full bucket.
  const buckets = new Map<string, Bucket>()
  return {
    take: (key) => {
      const now = clock.now()
      const bucket = buckets.get(key) ?? { tokens: rate.burst, filled_at: now }
      // A clock that jumps back must not take tokens away.
      const passed_ms = Math.max(0, now - bucket.filled_at)
      bucket.tokens = Math.min(rate.burst, bucket.tokens + (passed_ms / 1_000) * rate.per_second)
      bucket.filled_at = now
      buckets.delete(key)
      buckets.set(key, bucket)
      if (buckets.size > keys_max) {
        for (const oldest of buckets.keys()) {
          buckets.delete(oldest)
          break
        }
      }
      if (bucket.tokens >= 1) {
        bucket.tokens -= 1
        return undefined
      }
      return Math.max(1, Math.ceil((1 - bucket.tokens) / rate.per_second))
    },
  }
}
