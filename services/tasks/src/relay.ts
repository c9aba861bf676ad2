import { type Bus, publish } from '@guildhall/bus'
import type { OutboxRow } from '@guildhall/db'
import type { Clock } from '@guildhall/runtime'
import { z } from 'zod'
import { relayClaimRow } from './claim-records.ts'
import { type GoalProjection, PROJECT_GOALS, Projected } from './goal-projection.ts'
import type { WorkRecords } from './store/work-records.ts'

interface Destinations {
  readonly bus: Bus
  readonly clock: Clock
  readonly records: WorkRecords
  readonly projection: GoalProjection
}

/** Brings a row of the outbox to where it belongs: a bucket or the stream. A repeat is harmless. */
export const relayRow =
  (to: Destinations) =>
  async (row: OutboxRow): Promise<void> => {
    if (row.subject === PROJECT_GOALS) {
      await to.projection.apply(Projected.parse(row.payload))
      return
    }
    if (await relayClaimRow(to, row)) return
    const payload = z.record(z.string(), z.unknown()).parse(row.payload)
    await publish(to.bus, row.subject, payload, { msg_id: row.event_id })
  }
