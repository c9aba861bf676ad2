import { connectBus } from '@guildhall/bus'
import { connectDb } from '@guildhall/db'
import { createLogger, loadConfig } from '@guildhall/runtime'
import { ReputationConfig } from './config.ts'
import { createProjection } from './projection.ts'
import { reconcileOnce } from './reconcilers/reconcile.ts'

/**
 * One pass by hand: after a bucket was lost, or to see that nothing is missing. The one line on
 * stdout says what was seen and written; logs go to stderr.
 */
const config = loadConfig(ReputationConfig, process.env)
const log = createLogger({
  service: 'reputation-reconcile',
  level: config.LOG_LEVEL,
  destination: process.stderr,
})
const db = connectDb(config.DATABASE_URL, { log, max: 2 })
const bus = await connectBus({
  url: config.NATS_URL,
  user: config.NATS_USER,
  password: config.NATS_PASSWORD,
  // The inbox space that this service's bus account may use.
  service: 'reputation',
  log,
})
try {
  const reconciled = await reconcileOnce({ bus, db, projection: createProjection(bus) })
  process.stdout.write(`${JSON.stringify(reconciled)}\n`)
} finally {
  await bus.close()
  await db.destroy()
}
