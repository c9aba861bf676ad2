import { STORAGE_DEFAULT_BYTES, STORAGE_MIN_BYTES } from '@guildhall/contracts'
import { createLogger, loadConfig, serviceConfigShape } from '@guildhall/runtime'
import { z } from 'zod'
import { connectBus } from './connect.ts'
import { applyTopology } from './topology.ts'

/** Run once per release, as the one user that may create streams. */
const config = loadConfig(
  z.object({
    ...serviceConfigShape,
    NATS_REPLICAS: z.coerce.number().int().min(1).max(5).default(1),
    /** Shared out over the streams and buckets. May be raised at any time, by running this again. */
    GUILDHALL_STORAGE_BYTES: z.coerce
      .number()
      .int()
      .min(STORAGE_MIN_BYTES)
      .default(STORAGE_DEFAULT_BYTES),
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
  const options = {
    replicas: config.NATS_REPLICAS,
    storage_bytes: config.GUILDHALL_STORAGE_BYTES,
  }
  await applyTopology(bus, options)
  log.info(options, 'streams and buckets are as declared')
} catch (err) {
  log.fatal({ err }, 'provisioning failed')
  process.exitCode = 1
} finally {
  await bus.close()
}
