import type { RateLimit } from '@guildhall/contracts'

interface Bucket {
  tokens: number
  refilled_ms: number
}

/** Keys remembered at once. Beyond it the one unused for longest is forgotten, which fills it up. */
const KEYS_MAX = 20_000

/**
 * Token buckets by key, for this replica. Time comes from the caller: the process's own, so that a
 * clock set back does not lock anybody out.
 */
export class RateLimiter {
  readonly #buckets = new Map<string, Bucket>()

  /** Seconds until it can succeed, or 0 when the tokens were taken. */
  take(key: string, limit: RateLimit, now_ms: number, tokens = 1): number {
    const bucket = this.#refilled(key, limit, now_ms)
    if (bucket.tokens >= tokens) {
      bucket.tokens -= tokens
      return 0
    }
    return Math.max(1, Math.ceil((tokens - bucket.tokens) / limit.per_second))
  }

  /** Whether a token is there, without taking it. */
  has(key: string, limit: RateLimit, now_ms: number): boolean {
    return this.#refilled(key, limit, now_ms).tokens >= 1
  }

  #refilled(key: string, { per_second, burst }: RateLimit, now_ms: number): Bucket {
    const known = this.#buckets.get(key)
    const bucket = known ?? { tokens: burst, refilled_ms: now_ms }
    const gained = ((now_ms - bucket.refilled_ms) / 1_000) * per_second
    bucket.tokens = Math.min(burst, bucket.tokens + Math.max(0, gained))
    bucket.refilled_ms = now_ms
    // A Map keeps the order of insertion: putting it in again makes it the youngest.
    if (known !== undefined) this.#buckets.delete(key)
    this.#buckets.set(key, bucket)
    if (this.#buckets.size > KEYS_MAX) {
      const oldest = this.#buckets.keys().next().value
      if (oldest !== undefined) this.#buckets.delete(oldest)
    }
    return bucket
  }
}
