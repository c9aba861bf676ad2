import { connectDb, migrate } from '@guildhall/db'
import { createLogger, loadConfig } from '@guildhall/runtime'
import { ReputationConfig } from './config.ts'
import { migrations } from './migrations/index.ts'

/** Run once per release, before the service starts. */
const config = loadConfig(ReputationConfig, process.env)
const log = createLogger({ service: 'reputation-migrate', level: config.LOG_LEVEL })
const db = connectDb(config.DATABASE_URL, { log, max: 1 })
try {
  log.info({ applied: await migrate(db, migrations) }, 'database is up to date')
} finally {
  await db.destroy()
}
