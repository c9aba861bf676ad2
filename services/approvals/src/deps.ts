import type { Db } from '@guildhall/db'
import type { Clock, Logger } from '@guildhall/runtime'
import type { Passwords } from './passwords.ts'
import type { SharedRecords } from './shared-records.ts'
import type { TokenMint } from './tokens.ts'

/** What every operation of this service is built on. */
export interface Deps {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly passwords: Passwords
  readonly tokens: TokenMint
  /** Goals, tasks and claims, which the tasks service owns. */
  readonly records: SharedRecords
  /** Returns once what was committed is in force at the gateway; throws `unavailable` if not. */
  readonly settle: () => Promise<void>
  readonly public_mcp_url: string
}
