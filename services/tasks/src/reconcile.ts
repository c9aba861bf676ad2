import { connectBus } from '@guildhall/bus'
import { connectDb } from '@guildhall/db'
import { clockFrom, createLogger, loadConfig } from '@guildhall/runtime'
import { composeTasks } from './compose.ts'
import { TasksConfig } from './config.ts'
import { reconcileOnce } from './reconcilers/reconcile.ts'

/** `make reconcile`: repairs what can be, prints what was found as one line of JSON. */
const config = loadConfig(TasksConfig, process.env)
const log = createLogger({
  service: 'tasks-reconcile',
  level: config.LOG_LEVEL,
  destination: process.stderr,
})
const bus = await connectBus({
  url: config.NATS_URL,
  user: config.NATS_USER,
  password: config.NATS_PASSWORD,
  service: 'tasks',
  log,
})
const db = connectDb(config.DATABASE_URL, { log })
const { tasks } = composeTasks({
  bus,
  db,
  clock: clockFrom(config),
  log,
  lease_token_key: config.LEASE_TOKEN_KEY,
})
try {
  await tasks.lanes.start()
  const report = await reconcileOnce(tasks)
  process.stdout.write(`${JSON.stringify(report)}\n`)
  process.exitCode = report.without_payload === 0 ? 0 : 1
} finally {
  await tasks.lanes.stop()
  await db.destroy()
  await bus.close()
}
