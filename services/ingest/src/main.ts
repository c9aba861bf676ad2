import { connectBus, verifyTopology } from '@guildhall/bus'
import { connectDb } from '@guildhall/db'
import { clockFrom, createLogger, loadConfig, opsServer, runService } from '@guildhall/runtime'
import { composeIngest } from './compose.ts'
import { IngestConfig } from './config.ts'

const service = 'ingest'
const config = loadConfig(IngestConfig, process.env)
const log = createLogger({ service, level: config.LOG_LEVEL })
const bus = await connectBus({
  url: config.NATS_URL,
  user: config.NATS_USER,
  password: config.NATS_PASSWORD,
  service,
  log,
})
await verifyTopology(bus)
const db = connectDb(config.DATABASE_URL, { log })
const clock = clockFrom(config)
const { parts, ready } = composeIngest(config, { bus, db, clock, log })
const foundation = {
  name: 'foundation',
  start: async () => undefined,
  stop: async () => {
    await bus.close()
    await db.destroy()
    clock.close()
  },
}

await runService({
  service,
  log,
  parts: [
    foundation,
    opsServer({ host: config.HTTP_HOST, port: config.OPS_PORT, service, ready }),
    ...parts,
  ],
})
