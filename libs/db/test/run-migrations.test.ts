import { ConfigError, createLogger } from '@guildhall/runtime'
import { createDatabase } from '@guildhall/testing'
import t from 'tap'
import {
  connectDb,
  isMigrated,
  type Migrations,
  outboxMigration,
  runMigrations,
} from '../src/index.ts'

const log = createLogger({ service: 'test', level: 'silent' })
const migrations: Migrations = { '0001-outbox': { up: outboxMigration } }

t.test('a database is brought up to date from the environment alone, once', async (t) => {
  const { url } = await createDatabase()
  const db = connectDb(url, { log, max: 1 })
  t.teardown(() => db.destroy())
  t.equal(await isMigrated(db, migrations), false)
  const env = { DATABASE_URL: url, LOG_LEVEL: 'silent' }
  await runMigrations('test', env, migrations)
  await runMigrations('test', env, migrations)
  t.equal(await isMigrated(db, migrations), true)
  t.strictSame((await db('schema_migrations').select('name')).length, 1)
})

t.test(
  'a bad environment is refused with all its faults, before anything is connected',
  async (t) => {
    const run = runMigrations('test', { LOG_LEVEL: 'loud' }, migrations)
    await t.rejects(run, ConfigError)
    await t.rejects(run, { message: /LOG_LEVEL[\s\S]*DATABASE_URL/ })
  },
)
