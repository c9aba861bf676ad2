import { type Connection, rowsOf } from '@guildhall/db'

/** What may be forgotten, and the column that says how old it is. */
const PERISHABLE = {
  calls: 'started_at',
  resource_requests: 'closed_at',
  inbox: 'received_at',
} as const

export type Perishable = keyof typeof PERISHABLE

/** Deletes at most `limit` rows older than that; how many they were. */
export const forgetRows = async (
  db: Connection,
  table: Perishable,
  before: Date,
  limit: number,
): Promise<number> => {
  const column = PERISHABLE[table]
  const gone = await rowsOf(
    db,
    `delete from ${table} where ctid = any(array(
       select ctid from ${table} where ${column} < :before limit :limit for update skip locked))
     returning 1`,
    { before, limit },
  )
  return gone.length
}
