// `make reconcile`: brings the copies of what the running system knows together again, and says
// what was found. Safe while it runs.
import { runInSystem } from './run-in-system.ts'
import { RECONCILING_SERVICES, reconcileEntry } from './services.ts'

await runInSystem(RECONCILING_SERVICES, reconcileEntry)
