import { ATTEMPTS_KEPT, type Attempt, type WorkRecord } from '@guildhall/contracts'
import { type Db, statement } from '@guildhall/db'
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

const todoColumns = ({ record, revision }: Revision, unsent: boolean) => {
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
    unsent_since: unsent ? timestamp(record.created_at) : null,
  }
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

/** One per attempt: statements may not touch a row twice. */
const newestAttempts = (revisions: readonly Revision[]): AttemptRow[] => {
  const newest = new Map<string, AttemptRow>()
  for (const row of revisions.flatMap(attemptRows)) {
    const key = `${row.todo_id}.${row.seq}`
    const known = newest.get(key)
    if (known === undefined || known.revision <= row.revision) {
      newest.set(key, { ...row, endpoint_id: row.endpoint_id ?? known?.endpoint_id ?? null })
    }
  }
  return [...newest.values()]
}

export interface Payload {
  readonly todo_id: string
  readonly body: Uint8Array
}

const newestRevisions = (revisions: readonly Revision[]): Revision[] => {
  const newest = new Map<string, Revision>()
  for (const entry of revisions) {
    const known = newest.get(entry.record.id)
    if (known === undefined || known.revision < entry.revision) newest.set(entry.record.id, entry)
  }
  return [...newest.values()]
}

/**
 * One statement, so that a batch is one round trip and one commit. Its parts see the tables as they
 * were before it, and none touches a row that another one does.
 */
const PROJECT = `
  with kept_attempts as (
    insert into attempts (todo_id, seq, endpoint_id, attempt, revision)
    select todo_id, seq, endpoint_id, attempt, revision
    from jsonb_to_recordset(:attempts::jsonb) as r (todo_id text, seq integer, endpoint_id text,
      attempt jsonb, revision bigint)
    order by todo_id, seq
    on conflict (todo_id, seq) do update set
      attempt = excluded.attempt, revision = excluded.revision,
      -- A closed attempt no longer says whose it was; the open one did.
      endpoint_id = coalesce(excluded.endpoint_id, attempts.endpoint_id)
    where attempts.revision <= excluded.revision
  ), pruned_attempts as (
    delete from attempts using jsonb_to_recordset(:pruned::jsonb) as r (todo_id text, seq integer)
    where attempts.todo_id = r.todo_id and attempts.seq <= r.seq
  ), kept_payloads as (
    insert into payloads (todo_id, body)
    select * from unnest(:payload_ids::text[], :payload_bodies::bytea[])
    on conflict (todo_id) do nothing
  ), dropped_payloads as (
    delete from payloads where todo_id = any(:done::text[])
  )
  insert into todos (id, owner_id, queue, priority, state, dead_letter, created_at, updated_at,
    claimable_at, lease_until, next_retry_at, holder_endpoint_id, claim_key_hash,
    attempts_total, record, revision, rings_done, next_ring_at, unsent_since)
  select id, owner_id, queue, priority, state, dead_letter, created_at, updated_at,
    claimable_at, lease_until, next_retry_at, holder_endpoint_id, claim_key_hash,
    attempts_total, record, revision, rings_done, next_ring_at, unsent_since
  from jsonb_to_recordset(:todos::jsonb) as r (id text, owner_id bigint, queue text, priority text,
    state text, dead_letter boolean, created_at timestamptz, updated_at timestamptz,
    claimable_at timestamptz, lease_until timestamptz, next_retry_at timestamptz,
    holder_endpoint_id text, claim_key_hash text, attempts_total integer, record jsonb,
    revision bigint, rings_done integer, next_ring_at timestamptz, unsent_since timestamptz)
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
      then todos.next_ring_at else excluded.next_ring_at end,
    unsent_since = coalesce(excluded.unsent_since, todos.unsent_since)
  where todos.revision < excluded.revision`

/** All revisions of a batch, also several of one item: each may have closed an attempt. */
export const project = async (
  db: Db,
  revisions: readonly Revision[],
  payloads: readonly Payload[] = [],
  /** Created, but their messages were not found. Only the sweep takes this mark off again. */
  unsent: ReadonlySet<string> = new Set(),
): Promise<void> => {
  const newest = newestRevisions(revisions)
  const done = newest.filter(({ record }) => record.state === 'done').map(({ record }) => record.id)
  const finished = new Set<string>(done)
  const kept = payloads.filter(({ todo_id }) => !finished.has(todo_id))
  const pruned = newest
    .filter(({ record }) => record.attempts_total > ATTEMPTS_KEPT)
    .map(({ record }) => ({ todo_id: record.id, seq: record.attempts_total - ATTEMPTS_KEPT }))
  await statement(() =>
    db.raw(PROJECT, {
      todos: toJson(newest.map((entry) => todoColumns(entry, unsent.has(entry.record.id)))),
      attempts: toJson(newestAttempts(revisions)),
      pruned: JSON.stringify(pruned),
      payload_ids: kept.map(({ todo_id }) => todo_id),
      payload_bodies: kept.map(({ body }) => Buffer.from(body)),
      done,
    }),
  )
}
