import { inboxMigration, type Migrations, outboxMigration } from '@guildhall/db'
import * as createTodos from './0001-create-todos.ts'
import * as addUnsent from './0003-add-unsent.ts'
import * as createGoals from './0004-create-goals.ts'
import * as createTaskItems from './0006-create-task-items.ts'

export const migrations: Migrations = {
  '0001-create-todos': { up: createTodos.up },
  '0002-create-inbox': { up: inboxMigration },
  '0003-add-unsent': { up: addUnsent.up },
  '0004-create-goals': { up: createGoals.up },
  '0005-create-outbox': { up: outboxMigration },
  '0006-create-task-items': { up: createTaskItems.up },
}
