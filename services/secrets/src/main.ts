import { connectBus, verifyTopology } from '@guildhall/bus'
import { connectDb } from '@guildhall/db'
import { clockFrom, createLogger, opsServer, runService } from '@guildhall/runtime'
import { composeSecrets } from './compose.ts'
import { loadVaultConfig, SecretsConfig } from './config.ts'

const service = 'secrets'
const config = loadVaultConfig(SecretsConfig, process.env)
const log = createLogger({ service, level: config.LOG_LEVEL })
const bus = await connectBus({
  url: config.NATS_URL,
  user: config.NATS_USER,
  password: config.NATS_PASSWORD,
  service,
  log,
})
const db = connectDb(config.DATABASE_URL, { log })
const clock = clockFrom(config)
const { parts, ready } = composeSecrets(config, { bus, db, clock, log })
const foundation = {
  name: 'foundation',
  start: () => verifyTopology(bus),
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
