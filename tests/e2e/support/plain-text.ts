import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'

/** Looks for a secret where it must not lie: in tables and in files, as text or as its bytes. */

/** Where in a database a text occurs, as `schema.table`; each row is searched in all its columns. */
export const tablesWith = async (url: string, secret: string): Promise<string[]> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
       where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
    )
    const found: string[] = []
    const hex = Buffer.from(secret).toString('hex')
    for (const { name } of tables) {
      const { rowCount } = await client.query(
        `select from ${name} as row
         where strpos(row::text, $1) > 0 or strpos(row::text, $2) > 0 limit 1`,
        [secret, hex],
      )
      if (rowCount !== 0) found.push(name)
    }
    return found
  } finally {
    await client.end()
  }
}

/** The files below a directory that hold a text. */
export const filesWith = (directory: string, secret: string): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).includes(secret))
