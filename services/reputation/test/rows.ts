import type { Db } from '@guildhall/db'
import { rowsOf } from '@guildhall/db'

export const tableRows = (db: Db, sql: string): Promise<Record<string, unknown>[]> =>
  rowsOf(db, sql, {})
