import { connectDb } from '@guildhall/db'
import { createLogger, loadConfig } from '@guildhall/runtime'
import { verifyAudit } from './audit-chain.ts'
import { databaseSettings } from './settings.ts'

/**
 * Whether the audit log is as it was written. The one line on stdout says what was seen, and the
 * first row that is not; then the exit code is 1. Changes nothing; logs go to stderr.
 */
const settings = loadConfig(databaseSettings, process.env)
const log = createLogger({
  service: 'approvals-verify-audit',
  level: settings.LOG_LEVEL,
  destination: process.stderr,
})
const db = connectDb(settings.DATABASE_URL, { log, max: 1 })
try {
  const verified = await verifyAudit(db)
  process.stdout.write(`${JSON.stringify(verified)}\n`)
  if (verified.broken !== null) process.exitCode = 1
} finally {
  await db.destroy()
}
