import { createLogger, DatabaseConfig, loadConfig } from '@guildhall/runtime'
import { connectDb } from './connect.ts'
import { type Migrations, migrate } from './migrate.ts'

/**
 * The whole of a service's `migrate` entry point, run once per release before the service starts.
 * A bad environment is reported with all its faults; whatever fails ends the process with code 1.
 */
export const runMigrations = async (
  service: string,
  env: Readonly<Record<string, string | undefined>>,
  migrations: Migrations,
): Promise<void> => {
  const config = loadConfig(DatabaseConfig, env)
  const log = createLogger({ service: `${service}-migrate`, level: config.LOG_LEVEL })
  const db = connectDb(config.DATABASE_URL, { log, max: 1 })
  try {
    log.info({ applied: await migrate(db, migrations) }, 'the database is up to date')
  } catch (err) {
    log.fatal({ err }, 'migration failed')
    process.exitCode = 1
  } finally {
    await db.destroy()
  }
}
