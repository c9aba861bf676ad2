// `make verify-audit`: whether the audit log of the running system is as it was written. Fails,
// naming the first row that is not. Safe while it runs.
import { readOptions } from './options.ts'
import { runInServices } from './run-in-services.ts'
import { AUDITING_SERVICES, verifyAuditEntry } from './services.ts'

await runInServices(
  readOptions(process.argv.slice(2), process.env),
  AUDITING_SERVICES,
  verifyAuditEntry,
  (service, lines) => console.log(`${service}: ${lines.at(-1) ?? 'done'}`),
)
