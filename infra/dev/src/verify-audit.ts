// `make verify-audit`: whether the audit log of the running system is as it was written. Fails,
// naming the first row that is not. Safe while it runs.
import { runOneShot } from './one-shot.ts'
import { AUDITING_SERVICES, verifyAuditEntry } from './services.ts'

await runOneShot({ verb: 'verify', services: AUDITING_SERVICES, entryOf: verifyAuditEntry })
