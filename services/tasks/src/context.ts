import type { BodyStore, Bus } from '@guildhall/bus'
import type { Db } from '@guildhall/db'
import type { Clock, Logger } from '@guildhall/runtime'
import type { Agents } from './agents.ts'
import type { Lanes } from './lanes.ts'
import type { Standing } from './standing.ts'
import type { ClaimKeys } from './store/claim-keys.ts'
import type { WorkRecords } from './store/work-records.ts'
import type { Turns } from './turns.ts'
import type { WaitRoom } from './wait-room.ts'

/** What the operations, consumers and reconcilers of this service stand on. */
export interface Tasks {
  readonly bus: Bus
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly records: WorkRecords
  readonly claimKeys: ClaimKeys
  readonly lanes: Lanes
  readonly bodies: BodyStore
  readonly waitRoom: WaitRoom
  readonly lease_token_key: Buffer
  /** The agents of every owner, as approvals publishes them. */
  readonly agents: Agents
  /** Who may take no work, as reputation publishes it. */
  readonly standing: Standing
  /** Claims of one task take turns. */
  readonly turns: Turns
  /** Returns once what was committed can be read where other services read it. */
  readonly settle: () => Promise<void>
}
