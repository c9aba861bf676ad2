import { type Connection, firstRow, rowsOf } from '@guildhall/db'

interface NewClaim {
  readonly token_sha256: string
  readonly user_id: number
  readonly agent_id: number
  readonly queue: string
  readonly created_at: Date
  readonly expires_at: Date
}

export const insertCredentialClaim = async (db: Connection, claim: NewClaim): Promise<void> => {
  await rowsOf(
    db,
    `insert into credential_claims
       (token_sha256, user_id, agent_id, queue, created_at, expires_at)
     values (:token_sha256, :user_id, :agent_id, :queue, :created_at, :expires_at)`,
    { ...claim },
  )
}

interface Use {
  readonly token_sha256: string
  readonly now: Date
  /** Of the endpoint that this use makes, if it is the first. */
  readonly endpoint_id: string
  readonly salt: string
  /** Digest of the call's idempotency key. */
  readonly key_hash: string | null
  /** A use by the same call after this time is the same use. */
  readonly repeat_since: Date
}

interface Used {
  readonly user_id: number
  readonly agent_id: number
  readonly queue: string
  readonly endpoint_id: string
  readonly salt: string
}

/** Uses the claim up, while its agent is active. Of two at once, one gets it. */
export const redeemCredentialClaim = (db: Connection, use: Use): Promise<Used | undefined> =>
  firstRow(
    db,
    `update credential_claims set
       claimed_at = coalesce(claimed_at, :now),
       endpoint_id = coalesce(endpoint_id, :endpoint_id),
       claimed_key_hash = :key_hash,
       salt = coalesce(salt, :salt)
     where token_sha256 = :token_sha256
       and ((claimed_at is null and expires_at > :now)
         or (claimed_key_hash = :key_hash and claimed_at > :repeat_since))
       and exists (
         select from agents
         where agents.user_id = credential_claims.user_id
           and agents.agent_id = credential_claims.agent_id and agents.status = 'active')
     returning user_id, agent_id, queue, endpoint_id, salt`,
    { ...use },
  )
