import { connectDb, migrate } from '@guildhall/db'
import { createLogger, loadConfig } from '@guildhall/runtime'
import { z } from 'zod'
import { migrations } from './migrations/index.ts'

const Config = z.object({
  DATABASE_URL: z.string().min(1),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
})
const config = loadConfig(Config, process.env)
const log = createLogger({ service: 'secrets-migrate', level: config.LOG_LEVEL })
const db = connectDb(config.DATABASE_URL, { log, max: 1 })
try {
  const applied = await migrate(db, migrations)
  log.info({ applied }, 'the database is up to date')
} catch (err) {
  log.fatal({ err }, 'migration failed')
  process.exitCode = 1
} finally {
  await db.destroy()
}
