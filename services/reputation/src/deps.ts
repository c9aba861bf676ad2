import type { Bus, Kv } from '@guildhall/bus'
import type { AgentRecord } from '@guildhall/contracts'
import type { Db } from '@guildhall/db'
import type { Clock, Logger } from '@guildhall/runtime'
import type { Projection } from './projection.ts'

/** What the operations, consumers and reconcilers of this service stand on. */
export interface Deps {
  readonly bus: Bus
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly projection: Projection
  /** Agents as approvals knows them, for those that no event has told of yet. */
  readonly agents: Kv<AgentRecord>
  /** Returns once what was committed is in force; throws `unavailable` if not. */
  readonly settle: () => Promise<void>
}
