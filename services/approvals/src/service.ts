import { type Bus, serveOperations } from '@guildhall/bus'
import { createSettle, type Db, outboxRelay } from '@guildhall/db'
import type { Clock, Logger, Part } from '@guildhall/runtime'
import { relayRow } from './announce.ts'
import { onGoalChanged } from './consumers/on-goal-changed.ts'
import { onNotice } from './consumers/on-notice.ts'
import { onSecretChanged } from './consumers/on-secret-changed.ts'
import { onStandingChanged } from './consumers/on-standing-changed.ts'
import { onTaskClaimed } from './consumers/on-task-claimed.ts'
import { onTreeSettled } from './consumers/on-tree-settled.ts'
import type { Deps } from './deps.ts'
import { bindOperations } from './operations/index.ts'
import type { Passwords } from './passwords.ts'
import { createProjection } from './projection.ts'
import { identityReconciler } from './reconciler.ts'
import { approvalExpiry } from './reconcilers/expire-approvals.ts'
import { ownerReminders } from './reconcilers/remind-owners.ts'
import { createSharedRecords } from './shared-records.ts'
import { sweeper } from './sweeper.ts'
import { createTokenMint } from './tokens.ts'

interface ServiceOptions {
  readonly db: Db
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Logger
  readonly passwords: Passwords
  readonly public_mcp_url: string
  readonly token_derivation_key: Buffer
}

interface ApprovalsService {
  readonly deps: Deps
  /** In the order in which they start. */
  readonly parts: readonly Part[]
}

/**
 * The whole service on given foundations. The relay starts before the operations that wait for it in
 * `settle`, and stops after them: an operation that drains still gets its change into force.
 */
export const approvalsService = ({
  db,
  bus,
  clock,
  log,
  passwords,
  public_mcp_url,
  token_derivation_key,
}: ServiceOptions): ApprovalsService => {
  const projection = createProjection(bus)
  const relay = outboxRelay({ db, publish: relayRow(bus, projection), log })
  const deps: Deps = {
    log,
    db,
    clock,
    passwords,
    tokens: createTokenMint(token_derivation_key),
    records: createSharedRecords(bus),
    settle: createSettle(relay.flush, log),
    public_mcp_url,
  }
  const events = { deps, bus, log }
  const parts = [
    relay,
    identityReconciler(db, projection, log),
    sweeper(db, clock, log),
    approvalExpiry(db, clock, log),
    ownerReminders(db, clock, log),
    onTreeSettled(events),
    onSecretChanged(events),
    onStandingChanged(events),
    serveOperations(bus, bindOperations(deps), { log }),
    onGoalChanged(events),
    onTaskClaimed(events),
    onNotice(events),
  ]
  return { deps, parts }
}
