import type { Db, Trx } from '@guildhall/db'
import { rowsOf, transaction } from '@guildhall/db'

/** Reads the whole database as it is at one moment, beside services that go on writing. */
export const inSnapshot = <T>(db: Db, read: (trx: Trx) => Promise<T>): Promise<T> =>
  transaction(db, async (trx) => {
    await rowsOf(trx, 'set transaction isolation level repeatable read, read only', {})
    return await read(trx)
  })
