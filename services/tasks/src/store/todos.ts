import { type Attempt, type TodoState, WorkRecord } from '@guildhall/contracts'
import { type Db, query } from '@guildhall/db'

/** Reads of the projection. The owner stands in every statement. */

const readRecord = (value: unknown): WorkRecord => WorkRecord.parse(value)

interface ListFilter {
  readonly owner_id: number
  /** undefined: all queues. */
  readonly queues: readonly string[] | undefined
  readonly state: TodoState | undefined
  readonly limit: number
  /** Last row of the page before. */
  readonly after: { readonly created_at: string; readonly id: string } | undefined
}

export const listTodos = async (db: Db, filter: ListFilter): Promise<WorkRecord[]> => {
  const rows: { record: unknown }[] = await query(() =>
    db('todos')
      .select('record')
      .where('owner_id', filter.owner_id)
      .modify((q) => {
        if (filter.queues !== undefined) void q.whereIn('queue', filter.queues)
        if (filter.state !== undefined) void q.where('state', filter.state)
        if (filter.after !== undefined) {
          void q.whereRaw('(created_at, id) < (?, ?)', [filter.after.created_at, filter.after.id])
        }
      })
      .orderBy([
        { column: 'created_at', order: 'desc' },
        { column: 'id', order: 'desc' },
      ])
      .limit(filter.limit),
  )
  return rows.map((row) => readRecord(row.record))
}

export const listOldestPending = async (
  db: Db,
  owner_id: number,
  queues: readonly string[] | undefined,
  now: number,
  limit: number,
): Promise<WorkRecord[]> => {
  const rows: { record: unknown }[] = await query(() =>
    db('todos')
      .select('record')
      .where({ owner_id, state: 'pending' })
      .where('claimable_at', '<=', new Date(now))
      .modify((q) => {
        if (queues !== undefined) void q.whereIn('queue', queues)
      })
      .orderBy(['created_at', 'id'])
      .limit(limit),
  )
  return rows.map((row) => readRecord(row.record))
}

/** Every queue of an owner that ever held something, for a human who names none. */
export const listQueues = async (db: Db, owner_id: number, limit: number): Promise<string[]> => {
  const rows: { queue: string }[] = await query(() =>
    db('todos').distinct('queue').where({ owner_id }).orderBy('queue').limit(limit),
  )
  return rows.map((row) => row.queue)
}

export const findClaimByKey = async (
  db: Db,
  owner_id: number,
  claim_key_hash: string,
): Promise<string | undefined> => {
  const row: { id: string } | undefined = await query(() =>
    db('todos').select('id').where({ owner_id, claim_key_hash, state: 'claimed' }).first(),
  )
  return row?.id
}

interface ItemKey {
  readonly owner_id: number
  readonly id: string
}

/** Items that the sweep should look at. Whether anything happens to them, their records decide. */
export const listDue = async (db: Db, now: number, limit: number): Promise<ItemKey[]> => {
  const at = new Date(now)
  const result = await query(() =>
    db.raw(
      `(select owner_id, id from todos where state = 'claimed' and lease_until <= ?
        order by lease_until limit ?)
       union all
       (select owner_id, id from todos where state = 'failed' and next_retry_at <= ?
        order by next_retry_at limit ?)`,
      [at, limit, at, limit],
    ),
  )
  return result.rows
}

export const listClaimsOfEndpoint = async (
  db: Db,
  owner_id: number,
  endpoint_id: string,
  limit: number,
): Promise<ItemKey[]> =>
  await query(() =>
    db('todos')
      .select('owner_id', 'id')
      .where({ owner_id, holder_endpoint_id: endpoint_id, state: 'claimed' })
      .limit(limit),
  )

/** Finished long ago: may be forgotten, here and in the bucket. */
export const listForgettable = async (db: Db, before: number, limit: number): Promise<ItemKey[]> =>
  await query(() =>
    db('todos')
      .select('owner_id', 'id')
      .whereRaw(`(state = 'done' or dead_letter) and updated_at < ?`, [new Date(before)])
      .orderBy('updated_at')
      .limit(limit),
  )

export const forget = async (db: Db, ids: readonly string[]): Promise<void> => {
  await query(() => db('todos').whereIn('id', ids).delete())
}

interface AttemptPage {
  readonly attempts: Attempt[]
  readonly kept: number
}

export const listAttempts = async (
  db: Db,
  todo_id: string,
  limit: number,
): Promise<AttemptPage> => {
  const rows: { attempt: Attempt; kept: number }[] = await query(() =>
    db('attempts')
      .select('attempt', db.raw('count(*) over () as kept'))
      .where({ todo_id })
      .orderBy('seq', 'desc')
      .limit(limit),
  )
  return { attempts: rows.map((row) => row.attempt), kept: rows[0]?.kept ?? 0 }
}

export interface ProjectedRow {
  readonly record: WorkRecord
  readonly revision: number
}

/** All items, a page after an id. */
export const listProjected = async (
  db: Db,
  after_id: string,
  limit: number,
): Promise<ProjectedRow[]> => {
  const rows: { record: unknown; revision: number }[] = await query(() =>
    db('todos').select('record', 'revision').where('id', '>', after_id).orderBy('id').limit(limit),
  )
  return rows.map((row) => ({ record: readRecord(row.record), revision: row.revision }))
}

/** Items whose message was missing at first sight, longest ago first. */
export const listUnsent = async (
  db: Db,
  before: number,
  limit: number,
): Promise<ProjectedRow[]> => {
  const rows: { record: unknown; revision: number }[] = await query(() =>
    db('todos')
      .select('record', 'revision')
      .where('unsent_since', '<=', new Date(before))
      .orderBy('unsent_since')
      .limit(limit),
  )
  return rows.map((row) => ({ record: readRecord(row.record), revision: row.revision }))
}

/** The row as it was seen only: what was projected since has to be looked at anew. */
export const markSent = async (db: Db, id: string, revision: number): Promise<void> => {
  await query(() => db('todos').where({ id, revision }).update({ unsent_since: null }))
}

export const forgetWithdrawn = async (db: Db, id: string, revision: number): Promise<void> => {
  await query(() => db('todos').where({ id }).where('revision', '<=', revision).delete())
}

export const readStoredPayload = async (
  db: Db,
  todo_id: string,
): Promise<Uint8Array | undefined> => {
  const row: { body: Buffer } | undefined = await query(() =>
    db('payloads').select('body').where({ todo_id }).first(),
  )
  return row?.body
}

export const projectedRevision = async (db: Db, id: string): Promise<number | undefined> => {
  const row: { revision: number } | undefined = await query(() =>
    db('todos').select('revision').where({ id }).first(),
  )
  return row?.revision
}
