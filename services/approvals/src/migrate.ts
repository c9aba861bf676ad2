import { connectDb, migrate } from '@guildhall/db'
import { createLogger, loadConfig } from '@guildhall/runtime'
import { migrations } from './migrations/index.ts'
import { databaseSettings } from './settings.ts'

const settings = loadConfig(databaseSettings, process.env)
const log = createLogger({ service: 'approvals-migrate', level: settings.LOG_LEVEL })
const db = connectDb(settings.DATABASE_URL, { log, max: 1 })
try {
  log.info({ applied: await migrate(db, migrations) }, 'database is up to date')
} finally {
  await db.destroy()
}
