import { connectBus } from '@guildhall/bus'
import { clockFrom, createLogger, loadConfig, opsServer, runService } from '@guildhall/runtime'
import { GatewayConfig } from './config.ts'
import { createGateway } from './gateway.ts'

const SERVICE = 'mcp-gateway'

const config = loadConfig(GatewayConfig, process.env)
const log = createLogger({ service: SERVICE, level: config.LOG_LEVEL })
const clock = clockFrom(config)
const bus = await connectBus({
  url: config.NATS_URL,
  user: config.NATS_USER,
  password: config.NATS_PASSWORD,
  service: SERVICE,
  log,
})
const gateway = createGateway({ config, bus, clock, log })

await runService({
  service: SERVICE,
  log,
  parts: [
    { name: 'bus', start: async () => undefined, stop: () => bus.close() },
    opsServer({
      host: config.HTTP_HOST,
      port: config.OPS_PORT,
      service: SERVICE,
      ready: async () => gateway.ready(),
    }),
    gateway,
  ],
})
