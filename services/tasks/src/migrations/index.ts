import { inboxMigration, type Migrations } from '@guildhall/db'
import * as createTodos from './0001-create-todos.ts'
import * as addUnsent from './0003-add-unsent.ts'

export const migrations: Migrations = {
  '0001-create-todos': { up: createTodos.up },
  '0002-create-inbox': { up: inboxMigration },
  '0003-add-unsent': { up: addUnsent.up },
}
