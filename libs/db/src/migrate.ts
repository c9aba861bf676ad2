import { createHash } from 'node:crypto'
import { type Db, dbError, type Trx } from './connect.ts'

export interface Migration {
  up(trx: Trx): Promise<void>
}

/** Keyed by name, `0001-create-todos`; run in the order of the names; never edited once merged. */
export type Migrations = Readonly<Record<string, Migration>>

/** Any number: it only has to be the same for all who migrate this database. */
const LOCK_KEY = 7_301_955_201

const NAME = /^\d{4}-[a-z0-9-]+$/

/**
 * Brings the database to the newest schema in one transaction, under an advisory lock, so that
 * starters in parallel wait for each other. A database that is newer than this code is refused.
 */
export const migrate = async (db: Db, migrations: Migrations): Promise<readonly string[]> => {
  const names = Object.keys(migrations).sort()
  for (const name of names) if (!NAME.test(name)) throw new Error(`bad migration name: ${name}`)
  try {
    return await db.transaction(async (trx) => {
      await trx.raw('select pg_advisory_xact_lock(?)', [LOCK_KEY])
      await trx.raw(
        `create table if not exists schema_migrations (
           name text primary key,
           applied_at timestamptz not null default now()
         )`,
      )
      const rows: { name: string }[] = await trx('schema_migrations').select('name')
      const done = new Set(rows.map((row) => row.name))
      const unknown = [...done].filter((name) => !names.includes(name))
      if (unknown.length > 0) {
        throw new Error(`the database is newer than this release: ${unknown.join(', ')}`)
      }
      const missing = names.filter((name) => !done.has(name))
      for (const name of missing) {
        await migrations[name]?.up(trx)
        await trx('schema_migrations').insert({ name })
      }
      return missing
    })
  } catch (error) {
    throw dbError(error)
  }
}

/** For test templates: changes whenever a migration is added or its text changes. */
export const migrationsHash = (migrations: Migrations): string => {
  const hash = createHash('sha256')
  for (const name of Object.keys(migrations).sort()) {
    hash.update(name).update(String(migrations[name]?.up))
  }
  return hash.digest('hex').slice(0, 12)
}

/** Whether every migration is applied, for readiness. Never throws. */
export const isMigrated = async (db: Db, migrations: Migrations): Promise<boolean> => {
  try {
    const rows: { name: string }[] = await db('schema_migrations').select('name')
    const done = new Set(rows.map((row) => row.name))
    return Object.keys(migrations).every((name) => done.has(name))
  } catch {
    return false
  }
}
