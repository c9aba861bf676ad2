import { type Bus, openBodyStore } from '@guildhall/bus'
import { createSettle, type Db, outboxRelay } from '@guildhall/db'
import type { Clock, Logger, Part } from '@guildhall/runtime'
import { openAgents } from './agents.ts'
import { onCommandFinished } from './consumers/on-command-finished.ts'
import { onDelivery } from './consumers/on-delivery.ts'
import { onEndpointRevoked } from './consumers/on-endpoint-revoked.ts'
import { onRung } from './consumers/on-rung.ts'
import { onTreeApproved } from './consumers/on-tree-approved.ts'
import { projection } from './consumers/projection.ts'
import type { Tasks } from './context.ts'
import { openGoalProjection } from './goal-projection.ts'
import { openLanes } from './lanes.ts'
import { serveTasks } from './operations/index.ts'
import { holdsReconciler } from './reconcilers/reconcile-goals.ts'
import { retention } from './reconcilers/retention.ts'
import { sweep } from './reconcilers/sweep.ts'
import { relayRow } from './relay.ts'
import { openStanding } from './standing.ts'
import { openClaimKeys } from './store/claim-keys.ts'
import { openWorkRecords } from './store/work-records.ts'
import { openTurns } from './turns.ts'
import { openWaitRoom } from './wait-room.ts'

interface Foundations {
  readonly bus: Bus
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly lease_token_key: Buffer
}

/** The whole service on given foundations; the parts in the order in which they start. */
export const composeTasks = (foundations: Foundations): { tasks: Tasks; parts: Part[] } => {
  const { bus, db, clock, log } = foundations
  const lanes = openLanes(bus, log)
  const waitRoom = openWaitRoom(bus)
  const records = openWorkRecords(bus)
  const agents = openAgents(bus, log)
  const relay = outboxRelay({
    db,
    publish: relayRow({ bus, clock, records, projection: openGoalProjection(bus) }),
    log,
  })
  const tasks: Tasks = {
    ...foundations,
    records,
    claimKeys: openClaimKeys(bus),
    lanes,
    bodies: openBodyStore(bus),
    waitRoom,
    agents,
    standing: openStanding(bus),
    turns: openTurns(),
    settle: createSettle(relay.flush, log),
  }
  const parts = [
    lanes,
    agents,
    relay,
    serveTasks(tasks),
    // Stops before the operations do, so that waiting calls are answered while they drain.
    waitRoom,
    projection(tasks),
    onDelivery(tasks),
    onEndpointRevoked(tasks),
    onTreeApproved(tasks),
    onCommandFinished(tasks),
    onRung(tasks),
    sweep(tasks),
    holdsReconciler(tasks),
    retention(tasks),
  ]
  return { tasks, parts }
}
