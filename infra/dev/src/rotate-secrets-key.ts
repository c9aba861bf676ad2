// `make rotate-secrets-key`: after a new key was put in front of VAULT_MASTER_KEYS in keys/dev.json and
// the system was started again, wraps all data keys under it. Safe while it runs, and to repeat.
import { readOptions } from './options.ts'
import { runInServices } from './run-in-services.ts'

await runInServices(
  readOptions(process.argv.slice(2), process.env),
  ['secrets'],
  () => 'services/secrets/dist/src/rotate-master-key.js',
  (service, lines) => console.log(`${service}: ${lines.at(-1) ?? 'done'}`),
)
