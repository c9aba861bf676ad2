import type { Db, Trx } from './connect.ts'
import { query } from './transaction.ts'

/** A pool, or the transaction that a statement is part of. */
export type Connection = Db | Trx

type Value =
  | string
  | number
  | boolean
  | Date
  | Buffer
  | readonly string[]
  | readonly number[]
  | null

export type Bindings = Readonly<Record<string, Value>>

/** The rows of one statement; `:name` stands for a bound value. */
export const rowsOf = async <Row>(
  db: Connection,
  sql: string,
  bindings: Bindings,
): Promise<Row[]> => {
  const result: { rows: Row[] } = await query(() => db.raw(sql, bindings))
  return result.rows
}

export const firstRow = async <Row>(
  db: Connection,
  sql: string,
  bindings: Bindings,
): Promise<Row | undefined> => (await rowsOf<Row>(db, sql, bindings))[0]
