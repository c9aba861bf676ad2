import { type Connection, firstRow } from '@guildhall/db'

export interface KeyedCall {
  readonly caller: string
  readonly operation: string
  readonly key_hash: string
  readonly input_hash: string
}

interface Claim extends KeyedCall {
  readonly object_id: string
  readonly salt: string
  readonly now: Date
  /** A key used before this is free again. */
  readonly used_since: Date
}

/**
 * True for the first call with this key. A second one at the same time waits here for the end of
 * the first one's transaction.
 */
export const insertCall = async (db: Connection, claim: Claim): Promise<boolean> => {
  const row = await firstRow(
    db,
    `insert into idempotent_calls as known
       (caller, operation, key_hash, input_hash, object_id, salt, created_at)
     values (:caller, :operation, :key_hash, :input_hash, :object_id, :salt, :now)
     on conflict (caller, operation, key_hash) do update set
       input_hash = excluded.input_hash,
       object_id = excluded.object_id,
       salt = excluded.salt,
       created_at = excluded.created_at
     where known.created_at <= :used_since
     returning object_id`,
    { ...claim },
  )
  return row !== undefined
}

interface FoundCall {
  readonly input_hash: string
  readonly object_id: string
  readonly salt: string
}

export const findCall = (
  db: Connection,
  { caller, operation, key_hash }: KeyedCall,
): Promise<FoundCall | undefined> =>
  firstRow(
    db,
    `select input_hash, object_id, salt from idempotent_calls
     where caller = :caller and operation = :operation and key_hash = :key_hash`,
    { caller, operation, key_hash },
  )
