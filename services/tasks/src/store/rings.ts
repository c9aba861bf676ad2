import { RE_RING_AFTER_MS, type Rung, WorkRecord } from '@guildhall/contracts'
import { type Db, query } from '@guildhall/db'

/** Which rings were written to a worker's stream, and which are due again. */

const RINGS_SHOWN = 20

export const recordRung = async (db: Db, owner_id: number, rung: Rung): Promise<void> => {
  await query(() =>
    db('rings')
      .insert({
        todo_id: rung.todo_id,
        owner_id,
        endpoint_id: rung.endpoint_id,
        rung_at: new Date(rung.rung_at),
      })
      .onConflict(['todo_id', 'endpoint_id', 'rung_at'])
      .ignore(),
  )
}

interface RingRow {
  readonly endpoint_id: string
  readonly rung_at: string
  readonly heard: boolean
}

/** Heard: a claim by that endpoint followed. A write to a stream proves nothing. */
export const listRings = async (db: Db, owner_id: number, todo_id: string): Promise<RingRow[]> =>
  await query(() =>
    db('rings')
      .select(
        'endpoint_id',
        'rung_at',
        db.raw(
          `exists (select 1 from attempts a where a.todo_id = rings.todo_id
             and a.endpoint_id = rings.endpoint_id
             and (a.attempt->>'claimed_at')::timestamptz >= rings.rung_at) as heard`,
        ),
      )
      .where({ owner_id, todo_id })
      .orderBy('rung_at', 'desc')
      .limit(RINGS_SHOWN),
  )

export const forgetRings = async (db: Db, before: number): Promise<void> => {
  await query(() => db('rings').where('rung_at', '<', new Date(before)).delete())
}

/** Offsets from claimable_at; the first is the ring at the moment when an item becomes claimable. */
const schedule = [0, ...RE_RING_AFTER_MS]

/**
 * Takes the rings that are due off the list, so that each is made by one replica. The next one is
 * planned in the same statement.
 */
export const takeDueRings = async (db: Db, now: number, limit: number): Promise<WorkRecord[]> => {
  const result = await query(() =>
    db.raw(
      `update todos set
         rings_done = rings_done + 1,
         next_ring_at = claimable_at
           + (?::bigint[])[rings_done + 2] * interval '1 millisecond'
       where id in (
         select id from todos where state = 'pending' and next_ring_at <= ?
         order by next_ring_at limit ? for update skip locked
       )
       returning record`,
      [schedule, new Date(now), limit],
    ),
  )
  return result.rows.map((row: { record: unknown }) => WorkRecord.parse(row.record))
}

/** A delayed item's first ring is still to come; any other was rung when it became claimable. */
export const firstRing = (
  record: WorkRecord,
): { rings_done: number; next_ring_at: Date | null } => {
  const rings_done = record.not_before === record.claimable_at ? 0 : 1
  const offset = schedule[rings_done]
  return {
    rings_done,
    next_ring_at: offset === undefined ? null : new Date(record.claimable_at + offset),
  }
}
