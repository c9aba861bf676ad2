import type { Migrations } from '@guildhall/db'
import * as createSecrets from './0001-create-secrets.ts'

export const migrations: Migrations = { '0001-create-secrets': createSecrets }
