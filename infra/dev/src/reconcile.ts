// `make reconcile`: brings the copies of what the running system knows together again, and says
// what was found. Safe while it runs.
import { runOneShot } from './one-shot.ts'
import { RECONCILING_SERVICES, reconcileEntry } from './services.ts'

await runOneShot({ verb: 'reconcile', services: RECONCILING_SERVICES, entryOf: reconcileEntry })
