import { GOAL_EVENTS_SHOWN } from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import { type Connection, rowsOf } from '@guildhall/db'

/** A goal's own log. It outlives what people do with the messages of its channel. */

interface GoalEvent {
  readonly goal_id: number
  /** `system`, `human:<id>` or `agent:<id>`. */
  readonly sender: string
  readonly kind: string
  readonly body: string
  readonly now: Date
}

export const addGoalEventIn = async (trx: Trx, event: GoalEvent): Promise<void> => {
  await rowsOf(
    trx,
    `insert into goal_events (goal_id, sender, kind, body, created_at)
     values (:goal_id, :sender, :kind, :body, :now)`,
    { ...event },
  )
}

interface ShownEvent {
  readonly id: number
  readonly from: string
  readonly body: string
  readonly kind: string
  readonly created_at: string
}

export const newestGoalEvents = (db: Connection, goal_id: number): Promise<ShownEvent[]> =>
  rowsOf(
    db,
    `select event_id as id, sender as "from", body, kind, created_at from goal_events
     where goal_id = :goal_id order by event_id desc limit :limit`,
    { goal_id, limit: GOAL_EVENTS_SHOWN },
  )
