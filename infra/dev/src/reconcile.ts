// `make reconcile`: brings the copies of what the running system knows together again, and says
// what was found. Safe while it runs.
import { readOptions } from './options.ts'
import { runInServices } from './run-in-services.ts'
import { RECONCILING_SERVICES, reconcileEntry } from './services.ts'

await runInServices(
  readOptions(process.argv.slice(2), process.env),
  RECONCILING_SERVICES,
  reconcileEntry,
  (service, lines) => console.log(`${service}: ${lines.at(-1) ?? 'done'}`),
)
