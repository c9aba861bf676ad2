import { type Bus, publish } from '@guildhall/bus'
import {
  agentKey,
  type Notice,
  noticePosted,
  StandingRecord,
  standingChanged,
} from '@guildhall/contracts'
import { addToOutbox, type OutboxRow, type Trx } from '@guildhall/db'
import { z } from 'zod'
import { type Projection, standingRecord } from './projection.ts'
import type { StandingRow } from './store/standing.ts'

/**
 * What a change tells the rest of the system: rows of the outbox, written in its transaction and
 * relayed after it. The bucket's entry comes before the event, so whoever hears of a change finds
 * it there.
 */
const PROJECT = 'project.standing'

export const announceStanding = async (
  trx: Trx,
  row: StandingRow,
  by_user_id: number | null,
): Promise<void> => {
  const { user_id, agent_id, quarantined, reason, version } = row
  const record = standingRecord(row)
  const key = agentKey(user_id, agent_id)
  await addToOutbox(trx, { subject: PROJECT, key, payload: record })
  await addToOutbox(trx, {
    subject: standingChanged.subject,
    key,
    payload: standingChanged.schema.parse({
      v: 1,
      user_id,
      agent_id,
      quarantined,
      reason,
      by_user_id,
      at: record.since,
    }),
    event_id: `standing-${user_id}-${agent_id}-${version}`,
  })
}

export const announceNotice = async (trx: Trx, notice: Notice, event_id: string): Promise<void> => {
  const { subject, schema } = noticePosted('reputation')
  await addToOutbox(trx, {
    subject,
    key: `notice-${notice.user_id}`,
    payload: schema.parse(notice),
    event_id,
  })
}

/** Brings one row of the outbox to where it belongs. A repeat is harmless. */
export const relayRow =
  (bus: Bus, projection: Projection) =>
  async ({ subject, payload, event_id }: OutboxRow): Promise<void> => {
    if (subject === PROJECT) {
      await projection.apply(StandingRecord.parse(payload))
      return
    }
    await publish(bus, subject, z.record(z.string(), z.unknown()).parse(payload), {
      msg_id: event_id,
    })
  }
