import { mkdirSync, realpathSync } from 'node:fs'
import { connectBus, verifyTopology } from '@guildhall/bus'
import { clockFrom, createLogger, loadConfig, opsServer, runService } from '@guildhall/runtime'
import { VerifierConfig } from './config.ts'
import { identityFor } from './identity.ts'
import { composeVerifier } from './on-command.ts'

const service = 'verifier'
const config = loadConfig(VerifierConfig, process.env)
const log = createLogger({ service, level: config.LOG_LEVEL })
const clock = clockFrom(config)
const bus = await connectBus({
  url: config.NATS_URL,
  user: config.NATS_USER,
  password: config.NATS_PASSWORD,
  service,
  log,
})
mkdirSync(config.VERIFIER_ROOT, { recursive: true, mode: 0o755 })
const identity = identityFor(config, process.getuid?.())
if (identity === undefined) {
  log.warn('commands run as the user of this process and can read what that user can')
}

await runService({
  service,
  log,
  parts: [
    {
      name: 'connections',
      start: () => verifyTopology(bus),
      stop: async () => {
        await bus.close()
        clock.close()
      },
    },
    ...composeVerifier({
      bus,
      clock,
      log,
      root: realpathSync(config.VERIFIER_ROOT),
      path: config.PATH,
      identity,
      at_once: config.COMMANDS_AT_ONCE,
    }),
    opsServer({
      host: config.HTTP_HOST,
      port: config.OPS_PORT,
      service,
      ready: async () => ({ bus: bus.connected() }),
    }),
  ],
})
