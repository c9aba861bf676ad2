import type { Bus, Kv } from '@guildhall/bus'
import type { AgentRecord, StandingRecord, TaskRecord, WorkRecord } from '@guildhall/contracts'
import type { Db, OutboxRelay } from '@guildhall/db'
import type { Clock, Logger, Network } from '@guildhall/runtime'
import type { Resolve } from './brokered/addresses.ts'
import type { RequireApproval } from './brokered/require-approval.ts'
import type { Vault } from './envelope.ts'

/** Where calls with secrets may go, and how long they may take. */
export interface CallSettings {
  readonly resolve: Resolve
  readonly extra_ports: readonly number[]
  readonly allowed_addresses: readonly Network[]
  /** PEM; empty: only the usual authorities. */
  readonly extra_ca: string
  readonly timeout_ms: number
}

/** What the parts of this service are made from. */
export interface Deps {
  readonly bus: Bus
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly relay: OutboxRelay
  readonly vault: Vault
  /** Read afresh each time: these decide about access. */
  readonly agents: Kv<AgentRecord>
  readonly tasks: Kv<TaskRecord>
  readonly work: Kv<WorkRecord>
  readonly standing: Kv<StandingRecord>
  readonly calls: CallSettings
  readonly requireApproval: RequireApproval
}
