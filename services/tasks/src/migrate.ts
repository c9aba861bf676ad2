import { connectDb, migrate } from '@guildhall/db'
import { createLogger } from '@guildhall/runtime'
import { migrations } from './migrations/index.ts'

/** Run once per release, before the service starts. */
const log = createLogger({ service: 'tasks-migrate' })
const url = process.env.DATABASE_URL
if (url === undefined) {
  log.fatal('DATABASE_URL is not set')
  process.exit(1)
}
const db = connectDb(url, { log })
try {
  log.info({ applied: await migrate(db, migrations) }, 'migrated')
} finally {
  await db.destroy()
}
