import { connectBus, verifyTopology } from '@guildhall/bus'
import { canQuery, connectDb, isMigrated } from '@guildhall/db'
import {
  clockFrom,
  createLogger,
  loadConfig,
  opsServer,
  runService,
  steadyClock,
} from '@guildhall/runtime'
import { composeTasks } from './compose.ts'
import { TasksConfig } from './config.ts'
import { migrations } from './migrations/index.ts'
import { followBusClock } from './reconcilers/follow-bus-clock.ts'

const config = loadConfig(TasksConfig, process.env)
const log = createLogger({ service: 'tasks', level: config.LOG_LEVEL })
const bus = await connectBus({
  url: config.NATS_URL,
  user: config.NATS_USER,
  password: config.NATS_PASSWORD,
  service: 'tasks',
  log,
})
const db = connectDb(config.DATABASE_URL, { log })
const clock = steadyClock(clockFrom(config), (jump_ms) =>
  log.error({ jump_ms }, 'the wall clock jumped; leases keep to the steady clock'),
)
const { parts } = composeTasks({ bus, db, clock, log, lease_token_key: config.LEASE_TOKEN_KEY })

await runService({
  service: 'tasks',
  log,
  parts: [
    { name: 'bus', start: () => verifyTopology(bus), stop: () => bus.close() },
    { name: 'database', start: async () => undefined, stop: () => db.destroy() },
    followBusClock(bus, clock, log),
    ...parts,
    opsServer({
      host: config.HTTP_HOST,
      port: config.OPS_PORT,
      service: 'tasks',
      ready: async () => ({
        bus: bus.connected(),
        database: await canQuery(db),
        migrations: await isMigrated(db, migrations),
      }),
    }),
  ],
})
