export { connectDb, type Db, dbError, type Trx } from './connect.ts'
export { firstTime, inboxMigration } from './inbox.ts'
export { isMigrated, type Migration, type Migrations, migrate, migrationsHash } from './migrate.ts'
export {
  addAllToOutbox,
  addToOutbox,
  type OutboxRelay,
  type OutboxRow,
  outboxMigration,
  outboxRelay,
} from './outbox.ts'
export { type Bindings, type Connection, firstRow, rowsOf } from './rows.ts'
export { runMigrations } from './run-migrations.ts'
export { createSettle } from './settle.ts'
export { canQuery, query, statement, transaction } from './transaction.ts'
