// `make rotate-secrets-key`: after a new key was put in front of VAULT_MASTER_KEYS in keys/dev.json and
// the system was started again, wraps all data keys under it. Safe while it runs, and to repeat.
import { runInSystem } from './run-in-system.ts'

await runInSystem(['secrets'], (service) => `services/${service}/dist/src/rotate-master-key.js`)
