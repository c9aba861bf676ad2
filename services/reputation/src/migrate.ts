import { runMigrations } from '@guildhall/db'
import { migrations } from './migrations/index.ts'

await runMigrations('reputation', process.env, migrations)
