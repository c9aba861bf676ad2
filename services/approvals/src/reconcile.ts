import { connectBus } from '@guildhall/bus'
import { connectDb } from '@guildhall/db'
import { createLogger, loadConfig } from '@guildhall/runtime'
import { createProjection } from './projection.ts'
import { reconcileIdentity } from './reconciler.ts'
import { databaseSettings } from './settings.ts'

/**
 * One pass by hand: after a bucket was lost, or to see that nothing is missing. The one line on
 * stdout says what was seen and written; logs go to stderr.
 */
const settings = loadConfig(databaseSettings, process.env)
const log = createLogger({
  service: 'approvals-reconcile',
  level: settings.LOG_LEVEL,
  destination: process.stderr,
})
const db = connectDb(settings.DATABASE_URL, { log, max: 2 })
const bus = await connectBus({
  url: settings.NATS_URL,
  user: settings.NATS_USER,
  password: settings.NATS_PASSWORD,
  // The inbox space that this service's bus account may use.
  service: 'approvals',
  log,
})
try {
  const reconciled = await reconcileIdentity(db, createProjection(bus))
  process.stdout.write(`${JSON.stringify(reconciled)}\n`)
} finally {
  await bus.close()
  await db.destroy()
}
