import { type Connection, rowsOf } from '@guildhall/db'

/** What may be forgotten, and the column that says how old it is. */
const PERISHABLE = {
  login_links: 'expires_at',
  login_attempts: 'window_started_at',
  credential_claims: 'expires_at',
  idempotent_calls: 'created_at',
} as const

export type PerishableTable = keyof typeof PERISHABLE

/** Deletes at most `limit` rows that are older than `before`; how many they were. */
export const sweepTable = async (
  db: Connection,
  table: PerishableTable,
  { before, limit }: { readonly before: Date; readonly limit: number },
): Promise<number> => {
  const column = PERISHABLE[table]
  const deleted = await rowsOf(
    db,
    `delete from ${table} where ctid = any(array(
       select ctid from ${table} where ${column} < :before limit :limit for update skip locked))
     returning ${column}`,
    { before, limit },
  )
  return deleted.length
}

/**
 * Events that took effect. Their rows are stamped by the database, so its clock says how old they
 * are, and no other.
 */
export const sweepInbox = async (
  db: Connection,
  { kept_ms, limit }: { readonly kept_ms: number; readonly limit: number },
): Promise<number> => {
  const deleted = await rowsOf(
    db,
    `delete from inbox where ctid = any(array(
       select ctid from inbox
       where received_at < now() - cast(:kept_ms as bigint) * interval '1 millisecond'
       limit :limit for update skip locked))
     returning event_id`,
    { kept_ms, limit },
  )
  return deleted.length
}
