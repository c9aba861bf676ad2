import { createLogger, loadConfig, serviceConfigShape } from '@guildhall/runtime'
import { z } from 'zod'
import { connectBus } from './connect.ts'
import { applyTopology } from './topology.ts'

/** Run once per release, as the one user that may create streams. */
const config = loadConfig(
  z.object({
    ...serviceConfigShape,
    NATS_REPLICAS: z.coerce.number().int().min(1).max(5).default(1),
  }),
  process.env,
)
const log = createLogger({ service: 'provision', level: config.LOG_LEVEL })
const bus = await connectBus({
  url: config.NATS_URL,
  user: config.NATS_USER,
  password: config.NATS_PASSWORD,
  service: 'admin',
  log,
})
try {
  await applyTopology(bus, { replicas: config.NATS_REPLICAS })
  log.info({ replicas: config.NATS_REPLICAS }, 'streams and buckets are as declared')
} catch (err) {
  log.fatal({ err }, 'provisioning failed')
  process.exitCode = 1
} finally {
  await bus.close()
}
