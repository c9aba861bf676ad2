import type { User } from '@guildhall/contracts'
import { type Connection, firstRow, rowsOf } from '@guildhall/db'

interface NewLink {
  readonly token_sha256: string
  readonly user_id: number
  readonly created_at: Date
  readonly expires_at: Date
}

export const insertLoginLink = async (db: Connection, link: NewLink): Promise<void> => {
  await rowsOf(
    db,
    `insert into login_links (token_sha256, user_id, created_at, expires_at)
     values (:token_sha256, :user_id, :created_at, :expires_at)`,
    { ...link },
  )
}

interface Redemption {
  readonly token_sha256: string
  readonly now: Date
  /** Digest of the call's idempotency key. */
  readonly key_hash: string | null
  /** A use by the same call after this time is the same use. */
  readonly repeat_since: Date
}

/**
 * Uses the link up and tells whose it was. Of two at once, one gets the user. Its answer can be
 * lost, so for a minute the same call (told by its key) is the same use; no other call is.
 */
export const redeemLoginLink = (
  db: Connection,
  redemption: Redemption,
): Promise<User | undefined> =>
  firstRow(
    db,
    `with redeemed as (
       update login_links
       set used_at = coalesce(used_at, :now), used_key_hash = :key_hash
       where token_sha256 = :token_sha256
         and ((used_at is null and expires_at > :now)
           or (used_key_hash = :key_hash and used_at > :repeat_since))
       returning user_id)
     select user_id, username, created_at from redeemed join users using (user_id)`,
    { ...redemption },
  )
