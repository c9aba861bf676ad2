import { runMigrations } from '@guildhall/db'
import { migrations } from './migrations/index.ts'

await runMigrations('ingest', process.env, migrations)
