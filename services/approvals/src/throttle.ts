import { ServiceError, sha256Hex } from '@guildhall/contracts'
import { senderOf } from '@guildhall/runtime'
import type { Deps } from './deps.ts'
import { LOGIN_ATTEMPTS_PER_ADDRESS, LOGIN_ATTEMPTS_PER_USER, LOGIN_WINDOW_MS } from './limits.ts'
import { countAttempt, refundAttempt } from './store/login-attempts.ts'

/**
 * Guesses of a password are counted over all replicas, in fixed windows. A refused attempt does not
 * lengthen the window: whoever is locked out by somebody else's guesses knows when that ends.
 */
interface Bucket {
  readonly name: string
  readonly limit: number
}

/** Hashed: a name that does not exist, or a password typed as a name, is not kept. */
const bucket = (kind: string, value: string, limit: number): Bucket => ({
  name: `${kind}:${sha256Hex(value)}`,
  limit,
})

export const userBucket = (username: string): Bucket =>
  bucket('user', username, LOGIN_ATTEMPTS_PER_USER)

/** Apart from logging in, so that guesses from outside do not keep an owner from changing it. */
export const passwordChangeBucket = (user_id: number): Bucket =>
  bucket('change', String(user_id), LOGIN_ATTEMPTS_PER_USER)

export const addressBucket = (client_address: string): Bucket =>
  bucket('address', senderOf(client_address), LOGIN_ATTEMPTS_PER_ADDRESS)

/** Attempts at one-time claims of credentials, apart from those at logging in. */
export const claimBucket = (client_address: string | undefined): Bucket =>
  bucket(
    'claim',
    client_address === undefined ? 'unknown' : senderOf(client_address),
    LOGIN_ATTEMPTS_PER_ADDRESS,
  )

type Throttle = Pick<Deps, 'db' | 'clock'>

/** Counts an attempt before it is judged. Throws `rate_limited` when there were too many. */
export const admitAttempt = async (
  { db, clock }: Throttle,
  buckets: readonly Bucket[],
): Promise<void> => {
  const now_ms = clock.now()
  const limits = new Map(buckets.map(({ name, limit }) => [name, limit]))
  const counted = await countAttempt(db, {
    buckets: [...limits.keys()],
    now: new Date(now_ms),
    window_since: new Date(now_ms - LOGIN_WINDOW_MS),
    count_max: Math.max(...limits.values()) + 1,
  })
  const waits_ms = counted
    .filter(({ bucket: name, attempts }) => attempts > (limits.get(name) ?? 0))
    .map((full) => Date.parse(full.window_started_at) + LOGIN_WINDOW_MS - now_ms)
  if (waits_ms.length === 0) return
  throw new ServiceError('rate_limited', 'too many attempts', {
    retry_after_seconds: Math.max(1, Math.ceil(Math.max(...waits_ms) / 1_000)),
  })
}

/** Whoever turned out to be right does not use up what stops those who guess. */
export const giveBackAttempt = ({ db }: Throttle, buckets: readonly Bucket[]): Promise<void> =>
  refundAttempt(
    db,
    buckets.map(({ name }) => name),
  )
