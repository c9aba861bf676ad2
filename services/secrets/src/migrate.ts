import { runMigrations } from '@guildhall/db'
import { migrations } from './migrations/index.ts'

await runMigrations('secrets', process.env, migrations)
