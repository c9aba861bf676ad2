import { type Connection, rowsOf } from '@guildhall/db'

/** The number of events forgotten. */
export const forgetReceived = async (
  db: Connection,
  { before, limit }: { readonly before: Date; readonly limit: number },
): Promise<number> => {
  const forgotten = await rowsOf(
    db,
    `delete from inbox where (consumer, event_id) in (
       select consumer, event_id from inbox where received_at < :before limit :limit)
     returning event_id`,
    { before, limit },
  )
  return forgotten.length
}
