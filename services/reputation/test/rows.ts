import type { Db } from '@guildhall/db'
import { rowsOf } from '../src/store/rows.ts'

export const tableRows = (db: Db, sql: string): Promise<Record<string, unknown>[]> =>
  rowsOf(db, sql, {})
