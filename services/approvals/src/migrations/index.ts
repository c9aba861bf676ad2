import { inboxMigration, type Migrations, outboxMigration } from '@guildhall/db'
import { createUsers } from './0002-create-users.ts'
import { createEndpoints } from './0003-create-endpoints.ts'
import { createAuditLog } from './0004-create-audit-log.ts'
import { createChannels } from './0005-create-channels.ts'
import { chainAuditLog } from './0008-chain-audit-log.ts'
import { growAgents } from './0010-grow-agents.ts'
import { createApprovals } from './0011-create-approvals.ts'

export const migrations: Migrations = {
  '0001-create-outbox': { up: outboxMigration },
  '0002-create-users': createUsers,
  '0003-create-endpoints': createEndpoints,
  '0004-create-audit-log': createAuditLog,
  '0005-create-channels': createChannels,
  '0006-create-inbox': { up: inboxMigration },
  '0008-chain-audit-log': chainAuditLog,
  '0010-grow-agents': growAgents,
  '0011-create-approvals': createApprovals,
}
