import { connectBus, verifyTopology } from '@guildhall/bus'
import { canQuery, connectDb, isMigrated } from '@guildhall/db'
import { clockFrom, createLogger, loadConfig, opsServer, runService } from '@guildhall/runtime'
import { migrations } from './migrations/index.ts'
import { createPasswords } from './passwords.ts'
import { approvalsService } from './service.ts'
import { serviceSettings } from './settings.ts'

const service = 'approvals'
const settings = loadConfig(serviceSettings, process.env)
const log = createLogger({ service, level: settings.LOG_LEVEL })
const clock = clockFrom(settings)
const db = connectDb(settings.DATABASE_URL, { log })
const bus = await connectBus({
  url: settings.NATS_URL,
  user: settings.NATS_USER,
  password: settings.NATS_PASSWORD,
  service,
  log,
})

const { parts } = approvalsService({
  db,
  bus,
  clock,
  log,
  passwords: createPasswords(),
  public_mcp_url: settings.PUBLIC_MCP_URL,
  token_derivation_key: settings.TOKEN_DERIVATION_KEY,
})

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
      host: settings.HTTP_HOST,
      port: settings.OPS_PORT,
      service,
      ready: async () => ({
        database: await canQuery(db),
        schema: await isMigrated(db, migrations),
        bus: bus.connected(),
      }),
    }),
  ],
})
