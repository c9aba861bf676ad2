import { ATTEMPTS_KEPT, type Attempt, type WorkRecord } from '@guildhall/contracts'
import { type Db, type Trx, transaction } from '@guildhall/db'
import { openAttempt } from '../work-item.ts'
import { toJson } from './json.ts'
import { firstRing } from './rings.ts'

/** Writes of the projection: idempotent by revision, a whole batch in one transaction. */

export interface Revision {
  readonly record: WorkRecord
  readonly revision: number
}

const timestamp = (ms: number | undefined): string | null =>
  ms === undefined ? null : new Date(ms).toISOString()

const todoColumns = ({ record, revision }: Revision) => {
  const { result: _result, ...shown } = record
  const ring = firstRing(record)
  return {
    id: record.id,
    owner_id: record.owner_id,
    queue: record.queue,
    priority: record.priority,
    state: record.state,
    dead_letter: record.dead_letter,
    created_at: timestamp(record.created_at),
    updated_at: timestamp(record.updated_at),
    claimable_at: timestamp(record.claimable_at),
    lease_until: timestamp(record.lease_until),
    next_retry_at: timestamp(record.next_retry_at),
    holder_endpoint_id: record.holder_endpoint_id ?? null,
    claim_key_hash: record.claim_key_hash ?? null,
    attempts_total: record.attempts_total,
    record: { ...shown, prior_attempts: [] },
    revision,
    rings_done: ring.rings_done,
    next_ring_at: ring.next_ring_at?.toISOString() ?? null,
  }
}

const writeTodos = async (trx: Trx, revisions: readonly Revision[]): Promise<void> => {
  await trx.raw(
    `insert into todos (id, owner_id, queue, priority, state, dead_letter, created_at, updated_at,
       claimable_at, lease_until, next_retry_at, holder_endpoint_id, claim_key_hash,
       attempts_total, record, revision, rings_done, next_ring_at)
     select id, owner_id, queue, priority, state, dead_letter, created_at, updated_at,
       claimable_at, lease_until, next_retry_at, holder_endpoint_id, claim_key_hash,
       attempts_total, record, revision, rings_done, next_ring_at
     from jsonb_to_recordset(?::jsonb) as r (id text, owner_id bigint, queue text, priority text,
       state text, dead_letter boolean, created_at timestamptz, updated_at timestamptz,
       claimable_at timestamptz, lease_until timestamptz, next_retry_at timestamptz,
       holder_endpoint_id text, claim_key_hash text, attempts_total integer, record jsonb,
       revision bigint, rings_done integer, next_ring_at timestamptz)
     order by id
     on conflict (id) do update set
       state = excluded.state, dead_letter = excluded.dead_letter,
       updated_at = excluded.updated_at, claimable_at = excluded.claimable_at,
       lease_until = excluded.lease_until, next_retry_at = excluded.next_retry_at,
       holder_endpoint_id = excluded.holder_endpoint_id,
       claim_key_hash = excluded.claim_key_hash, attempts_total = excluded.attempts_total,
       record = excluded.record, revision = excluded.revision,
       -- Rings are planned anew only when the item became claimable anew.
       rings_done = case when todos.claimable_at = excluded.claimable_at
         then todos.rings_done else excluded.rings_done end,
       next_ring_at = case when todos.claimable_at = excluded.claimable_at
         then todos.next_ring_at else excluded.next_ring_at end
     where todos.revision < excluded.revision`,
    [toJson(revisions.map(todoColumns))],
  )
}

interface AttemptRow {
  readonly todo_id: string
  readonly seq: number
  readonly endpoint_id: string | null
  readonly attempt: Attempt
  readonly revision: number
}

const attemptRows = ({ record, revision }: Revision): AttemptRow[] => {
  const open = openAttempt(record)
  const rows: AttemptRow[] = record.prior_attempts.map((attempt) => ({
    todo_id: record.id,
    seq: attempt.seq,
    endpoint_id: null,
    attempt,
    revision,
  }))
  if (open !== undefined) {
    const endpoint_id = record.holder_endpoint_id ?? null
    rows.push({ todo_id: record.id, seq: open.seq, endpoint_id, attempt: open, revision })
  }
  return rows
}

const writeAttempts = async (trx: Trx, revisions: readonly Revision[]): Promise<void> => {
  const newest = new Map<string, AttemptRow>()
  for (const row of revisions.flatMap(attemptRows)) {
    const key = `${row.todo_id}.${row.seq}`
    const known = newest.get(key)
    if (known === undefined || known.revision <= row.revision) {
      newest.set(key, { ...row, endpoint_id: row.endpoint_id ?? known?.endpoint_id ?? null })
    }
  }
  if (newest.size === 0) return
  await trx.raw(
    `insert into attempts (todo_id, seq, endpoint_id, attempt, revision)
     select todo_id, seq, endpoint_id, attempt, revision
     from jsonb_to_recordset(?::jsonb) as r (todo_id text, seq integer, endpoint_id text,
       attempt jsonb, revision bigint)
     order by todo_id, seq
     on conflict (todo_id, seq) do update set
       attempt = excluded.attempt, revision = excluded.revision,
       -- A closed attempt no longer says whose it was; the open one did.
       endpoint_id = coalesce(excluded.endpoint_id, attempts.endpoint_id)
     where attempts.revision <= excluded.revision`,
    [toJson([...newest.values()])],
  )
  const crowded = revisions.filter(({ record }) => record.attempts_total > ATTEMPTS_KEPT)
  if (crowded.length === 0) return
  await trx.raw(
    `delete from attempts using todos
     where todos.id = attempts.todo_id and todos.id = any(?::text[])
       and attempts.seq <= todos.attempts_total - ?`,
    [crowded.map(({ record }) => record.id), ATTEMPTS_KEPT],
  )
}

export interface Payload {
  readonly todo_id: string
  readonly body: Uint8Array
}

const writePayloads = async (
  trx: Trx,
  newest: readonly Revision[],
  payloads: readonly Payload[],
): Promise<void> => {
  if (payloads.length > 0) {
    await trx('payloads')
      .insert(payloads.map(({ todo_id, body }) => ({ todo_id, body: Buffer.from(body) })))
      .onConflict('todo_id')
      .ignore()
  }
  const done = newest.filter(({ record }) => record.state === 'done').map(({ record }) => record.id)
  if (done.length > 0) await trx('payloads').whereIn('todo_id', done).delete()
}

/** All revisions of a batch, also several of one item: each may have closed an attempt. */
export const project = async (
  db: Db,
  revisions: readonly Revision[],
  payloads: readonly Payload[] = [],
): Promise<void> => {
  const newest = new Map<string, Revision>()
  for (const entry of revisions) {
    const known = newest.get(entry.record.id)
    if (known === undefined || known.revision < entry.revision) newest.set(entry.record.id, entry)
  }
  await transaction(db, async (trx) => {
    await writeTodos(trx, [...newest.values()])
    await writeAttempts(trx, revisions)
    await writePayloads(trx, [...newest.values()], payloads)
  })
}
