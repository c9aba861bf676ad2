import type { ApiToken, IdentityCredential } from '@guildhall/contracts'
import { type Connection, firstRow, rowsOf } from '@guildhall/db'

const COLUMNS = 'token_id, name, prefix, created_at, expires_at'

type NewApiToken = Omit<ApiToken, 'created_at'> & {
  readonly user_id: number
  readonly token_sha256: string
  readonly created_at: Date
}

export const insertApiToken = async (db: Connection, token: NewApiToken): Promise<ApiToken> => {
  const [inserted] = await rowsOf<ApiToken>(
    db,
    `insert into api_tokens
       (token_id, user_id, name, token_sha256, prefix, created_at, expires_at)
     values (:token_id, :user_id, :name, :token_sha256, :prefix, :created_at, :expires_at)
     returning ${COLUMNS}`,
    { ...token },
  )
  if (inserted === undefined) throw new Error('an insert returned no row')
  return inserted
}

export const listLiveApiTokens = (db: Connection, user_id: number): Promise<ApiToken[]> =>
  rowsOf(
    db,
    `select ${COLUMNS} from api_tokens
     where user_id = :user_id and revoked_at is null
     order by token_id desc`,
    { user_id },
  )

export const countLiveApiTokens = async (db: Connection, user_id: number): Promise<number> => {
  const row = await firstRow<{ live: number }>(
    db,
    `select count(*) as live from api_tokens
     where user_id = :user_id and revoked_at is null`,
    { user_id },
  )
  return row?.live ?? 0
}

export interface ApiTokenKey {
  readonly user_id: number
  readonly token_id: string
}

/** With its hash, so that whoever computes the token again can tell whether it is this one. */
export const findApiToken = (
  db: Connection,
  key: ApiTokenKey,
): Promise<(ApiToken & { token_sha256: string; revoked: boolean }) | undefined> =>
  firstRow(
    db,
    `select ${COLUMNS}, token_sha256, revoked_at is not null as revoked from api_tokens
     where user_id = :user_id and token_id = :token_id`,
    { ...key },
  )

export interface ApiTokenRow {
  readonly token_id: string
  readonly user_id: number
  readonly token_sha256: string
  readonly expires_at: string | null
  readonly revoked: boolean
}

const PROJECTED = 'token_id, user_id, token_sha256, expires_at, revoked_at is not null as revoked'

/** What was revoked, or undefined when there is no such token that is live. */
export const revokeLiveApiToken = (
  db: Connection,
  { user_id, token_id }: ApiTokenKey,
  now: Date,
): Promise<ApiTokenRow | undefined> =>
  firstRow(
    db,
    `update api_tokens set revoked_at = :now
     where user_id = :user_id and token_id = :token_id and revoked_at is null
     returning ${PROJECTED}`,
    { user_id, token_id, now },
  )

/** A page over all users, for the reconciler alone. */
export const apiTokensAfter = (
  db: Connection,
  token_id: string,
  limit: number,
): Promise<ApiTokenRow[]> =>
  rowsOf(
    db,
    `select ${PROJECTED} from api_tokens where token_id > :token_id order by token_id limit :limit`,
    { token_id, limit },
  )

export const apiTokenRecord = (row: ApiTokenRow): IdentityCredential => ({
  v: 1,
  kind: 'api_token',
  user_id: row.user_id,
  token_id: row.token_id,
  expires_at: row.expires_at === null ? null : Date.parse(row.expires_at),
  revoked: row.revoked,
})
