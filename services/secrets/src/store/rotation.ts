import { type Connection, firstRow, rowsOf } from '@guildhall/db'
import type { SecretContext, WrappedKey } from '../envelope.ts'

/** Master keys: of all owners, since a key is the installation's. */

interface WrappedRow extends WrappedKey, SecretContext {
  readonly secret_id: number
}

/** The next rows whose data key is not under the given master key. */
export const wrappedOtherwise = (
  db: Connection,
  newest_key_id: string,
  after: number,
  limit: number,
): Promise<WrappedRow[]> =>
  rowsOf(
    db,
    `select secret_id, user_id, scope_type, scope_id, name, version, master_key_id, wrapped_key
     from secrets where revoked_at is null and master_key_id <> :newest_key_id
       and secret_id > :after order by secret_id limit :limit`,
    { newest_key_id, after, limit },
  )

/** False when the row changed since it was read: then it was revoked, or another run was first. */
export const replaceWrapping = async (
  db: Connection,
  { secret_id, master_key_id, wrapped_key }: WrappedRow,
  next: WrappedKey,
): Promise<boolean> => {
  const row = await firstRow(
    db,
    `update secrets set master_key_id = :next_key_id, wrapped_key = :next_wrapped
     where secret_id = :secret_id and revoked_at is null
       and master_key_id = :master_key_id and wrapped_key = :wrapped_key returning secret_id`,
    {
      secret_id,
      master_key_id,
      wrapped_key,
      next_key_id: next.master_key_id,
      next_wrapped: next.wrapped_key,
    },
  )
  return row !== undefined
}

/** How many active secrets need which master key. */
export const keysInUse = (
  db: Connection,
): Promise<{ readonly master_key_id: string; readonly secrets: number }[]> =>
  rowsOf(
    db,
    `select master_key_id, count(*) as secrets from secrets where revoked_at is null
     group by master_key_id order by master_key_id`,
    {},
  )
