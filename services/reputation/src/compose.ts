import { type Bus, createKv, serveOperations } from '@guildhall/bus'
import { AgentRecord, buckets } from '@guildhall/contracts'
import { type Db, outboxRelay } from '@guildhall/db'
import type { Clock, Logger, Part } from '@guildhall/runtime'
import { relayRow } from './announce.ts'
import { onAgentChanged } from './consumers/on-agent-changed.ts'
import { onEvidence } from './consumers/on-evidence.ts'
import type { Deps } from './deps.ts'
import { bindOperations } from './operations/index.ts'
import { createProjection } from './projection.ts'
import { reconciler } from './reconcilers/reconcile.ts'
import { retention } from './reconcilers/retention.ts'
import { createSettle } from './settle.ts'

interface Foundations {
  readonly bus: Bus
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
}

/** The whole service on given foundations; the parts in the order in which they start. */
export const composeReputation = (
  foundations: Foundations,
): { deps: Deps; parts: readonly Part[] } => {
  const { bus, db, log } = foundations
  const projection = createProjection(bus)
  const relay = outboxRelay({ db, publish: relayRow(bus, projection), log })
  const deps: Deps = {
    ...foundations,
    projection,
    agents: createKv(bus, buckets.agents, AgentRecord),
    settle: createSettle(relay.flush, log),
  }
  const parts = [
    relay,
    reconciler(deps),
    retention(deps),
    onAgentChanged(deps),
    onEvidence(deps),
    serveOperations(bus, bindOperations(deps), { log }),
  ]
  return { deps, parts }
}
