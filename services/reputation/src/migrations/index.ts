import { inboxMigration, type Migrations, outboxMigration } from '@guildhall/db'
import { createAgents } from './0003-create-agents.ts'
import { createEvidence } from './0004-create-evidence.ts'
import { createStanding } from './0005-create-standing.ts'

export const migrations: Migrations = {
  '0001-create-outbox': { up: outboxMigration },
  '0002-create-inbox': { up: inboxMigration },
  '0003-create-agents': createAgents,
  '0004-create-evidence': createEvidence,
  '0005-create-standing': createStanding,
}
