import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { type Bus, createKv } from '@guildhall/bus'
import { buckets, HumanSession, sha256Hex, type UserId } from '@guildhall/contracts'
import type { Clock } from '@guildhall/runtime'

/**
 * Sessions of owners in a browser. They lie in a bucket under the hash of their cookie, so that any
 * replica serves them and a reader of the bucket cannot use one.
 *
 * The CSRF token is derived from the cookie, which no page can read: a page of ours asks for the
 * token, a page of somebody else cannot. Nothing has to be kept for that but the hash to check it.
 */

export const SESSION_TTL_MS = 12 * 3_600_000
/** A session in use is extended, but not with each request: that would be a write per read. */
const EXTEND_AFTER_MS = 600_000

const COOKIE = /^[A-Za-z0-9_-]{43}$/

export interface OpenSession {
  readonly user_id: UserId
  readonly csrf_token: string
  readonly expires_at_ms: number
}

export interface Sessions {
  /** The secret of the cookie. Always a new one: nobody can fix it for somebody else before. */
  open(user_id: UserId): Promise<{ cookie: string; csrf_token: string }>
  find(cookie: string): Promise<OpenSession | undefined>
  close(cookie: string): Promise<void>
}

const csrfToken = (cookie: string): string =>
  createHmac('sha256', cookie).update('csrf').digest('base64url')

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

export const matchesCsrf = (session: OpenSession, given: string | undefined): boolean =>
  given !== undefined && timingSafeEqual(digest(session.csrf_token), digest(given))

export const createSessions = (bus: Bus, clock: Clock): Sessions => {
  const kv = createKv(bus, buckets.sessions, HumanSession)

  /** Two requests may both extend; the one that loses the compare-and-set need not try again. */
  const extend = async (key: string, value: HumanSession, revision: number): Promise<number> => {
    const now_ms = clock.now()
    const expires_at = now_ms + SESSION_TTL_MS
    if (expires_at - value.expires_at < EXTEND_AFTER_MS) return value.expires_at
    await kv.update(key, { ...value, expires_at }, revision)
    return expires_at
  }

  return {
    open: async (user_id) => {
      const cookie = randomBytes(32).toString('base64url')
      const csrf_token = csrfToken(cookie)
      const now_ms = clock.now()
      await kv.create(sha256Hex(cookie), {
        v: 1,
        user_id,
        csrf_token_hash: sha256Hex(csrf_token),
        created_at: now_ms,
        expires_at: now_ms + SESSION_TTL_MS,
      })
      return { cookie, csrf_token }
    },
    find: async (cookie) => {
      if (!COOKIE.test(cookie)) return undefined
      const key = sha256Hex(cookie)
      const found = await kv.get(key)
      if (found === undefined || found.value.expires_at <= clock.now()) return undefined
      const csrf_token = csrfToken(cookie)
      if (sha256Hex(csrf_token) !== found.value.csrf_token_hash) return undefined
      const expires_at_ms = await extend(key, found.value, found.revision)
      return { user_id: found.value.user_id, csrf_token, expires_at_ms }
    },
    close: async (cookie) => {
      if (COOKIE.test(cookie)) await kv.delete(sha256Hex(cookie))
    },
  }
}
