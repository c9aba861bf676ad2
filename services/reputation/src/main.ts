import { connectBus, verifyTopology } from '@guildhall/bus'
import { canQuery, connectDb, isMigrated } from '@guildhall/db'
import { clockFrom, createLogger, loadConfig, opsServer, runService } from '@guildhall/runtime'
import { composeReputation } from './compose.ts'
import { ReputationConfig } from './config.ts'
import { migrations } from './migrations/index.ts'

const service = 'reputation'
const config = loadConfig(ReputationConfig, process.env)
const log = createLogger({ service, level: config.LOG_LEVEL })
const clock = clockFrom(config)
const db = connectDb(config.DATABASE_URL, { log })
const bus = await connectBus({
  url: config.NATS_URL,
  user: config.NATS_USER,
  password: config.NATS_PASSWORD,
  service,
  log,
})
const { parts } = composeReputation({ bus, db, clock, log })

await runService({
  service,
  log,
  parts: [
    {
      name: 'connections',
      start: () => verifyTopology(bus),
      stop: async () => {
        await bus.close()
        await db.destroy()
        clock.close()
      },
    },
    ...parts,
    opsServer({
      host: config.HTTP_HOST,
      port: config.OPS_PORT,
      service,
      ready: async () => ({
        database: await canQuery(db),
        migrations: await isMigrated(db, migrations),
        bus: bus.connected(),
      }),
    }),
  ],
})
