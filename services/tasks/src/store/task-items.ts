import { type UserId, WorkRecord } from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import { type Connection, firstRow, rowsOf } from '@guildhall/db'
import { isTask, type TaskItem } from '../task-item.ts'
import { toJson } from './json.ts'

/** The projection of the claim records of tasks: idempotent by revision. */

export interface TaskRevision {
  readonly record: TaskItem
  readonly revision: number
}

const timestamp = (ms: number | undefined): string | null =>
  ms === undefined ? null : new Date(ms).toISOString()

const columns = ({ record, revision }: TaskRevision) => ({
  task_id: record.task.task_id,
  owner_user_id: record.owner_id,
  state: record.state,
  lease_until: timestamp(record.lease_until),
  holder_endpoint_id: record.holder_endpoint_id ?? null,
  // Handed in: the verifier is due at once.
  verify_at:
    record.state === 'awaiting_verification' ? timestamp(record.task.report?.submitted_at) : null,
  record,
  revision,
})

/** At most one revision of each task. */
export const writeTaskItems = async (
  db: Connection,
  newest: readonly TaskRevision[],
): Promise<void> => {
  if (newest.length === 0) return
  await rowsOf(
    db,
    `insert into task_items (task_id, owner_user_id, state, lease_until, holder_endpoint_id,
       verify_at, record, revision)
     select task_id, owner_user_id, state, lease_until, holder_endpoint_id, verify_at, record,
       revision
     from jsonb_to_recordset(:rows ::jsonb) as r (task_id bigint, owner_user_id bigint, state text,
       lease_until timestamptz, holder_endpoint_id text, verify_at timestamptz, record jsonb,
       revision bigint)
     order by owner_user_id, task_id
     on conflict (owner_user_id, task_id) do update set
       state = excluded.state, lease_until = excluded.lease_until,
       holder_endpoint_id = excluded.holder_endpoint_id, record = excluded.record,
       revision = excluded.revision,
       -- A record that was restored waits for the same verifier still.
       verify_at = case when task_items.state = excluded.state
         then task_items.verify_at else excluded.verify_at end,
       verify_tries = case when task_items.state = excluded.state
         then task_items.verify_tries else 0 end
     where task_items.revision < excluded.revision`,
    { rows: toJson(newest.map(columns)) },
  )
}

export interface TaskItemKey {
  readonly owner_user_id: UserId
  readonly task_id: number
}

/** Claims whose lease has ended. Whether anything happens to them, their records decide. */
export const listLapsedTasks = (
  db: Connection,
  now: number,
  limit: number,
): Promise<TaskItemKey[]> =>
  rowsOf(
    db,
    `select owner_user_id, task_id from task_items
     where state = 'claimed' and lease_until <= :at order by lease_until limit :limit`,
    { at: new Date(now), limit },
  )

export const listTaskClaimsOfEndpoint = (
  db: Connection,
  owner_user_id: number,
  endpoint_id: string,
  limit: number,
): Promise<TaskItemKey[]> =>
  rowsOf(
    db,
    `select owner_user_id, task_id from task_items
     where owner_user_id = :owner_user_id and holder_endpoint_id = :endpoint_id
       and state = 'claimed' limit :limit`,
    { owner_user_id, endpoint_id, limit },
  )

/** Tasks whose verifier is to be asked, asked again or given up now. */
export const listDueVerifiers = (
  db: Connection,
  now: number,
  limit: number,
): Promise<TaskItemKey[]> =>
  rowsOf(
    db,
    `select owner_user_id, task_id from task_items
     where verify_at <= :at order by verify_at limit :limit`,
    { at: new Date(now), limit },
  )

interface Row {
  readonly record: unknown
  readonly revision: number
  readonly verify_tries: number
}

export interface DueVerifier extends TaskRevision {
  readonly verify_tries: number
}

const readRow = ({ record, revision, verify_tries }: Row): DueVerifier => {
  const parsed = WorkRecord.parse(record)
  if (!isTask(parsed)) throw new Error('only records of tasks are written here')
  return { record: parsed, revision, verify_tries }
}

/** Locked, so that of several replicas one asks. Undefined: it is not due, or not any more. */
export const lockDueVerifierIn = async (
  trx: Trx,
  { owner_user_id, task_id }: TaskItemKey,
  now: number,
): Promise<DueVerifier | undefined> => {
  const row = await firstRow<Row>(
    trx,
    `select record, revision, verify_tries from task_items
     where owner_user_id = :owner_user_id and task_id = :task_id and verify_at <= :at for update`,
    { owner_user_id, task_id, at: new Date(now) },
  )
  return row === undefined ? undefined : readRow(row)
}

/** When to look again; undefined: nobody is waited for any more. */
export const setVerifierDueIn = async (
  trx: Trx,
  { owner_user_id, task_id }: TaskItemKey,
  verify_at: number | undefined,
  tries: number,
): Promise<void> => {
  await rowsOf(
    trx,
    `update task_items set verify_at = :verify_at, verify_tries = :tries
     where owner_user_id = :owner_user_id and task_id = :task_id`,
    {
      owner_user_id,
      task_id,
      verify_at: verify_at === undefined ? null : new Date(verify_at),
      tries,
    },
  )
}

/** All records, a page after an id: for the reconciler. */
export const taskItemsAfter = async (
  db: Connection,
  after: TaskItemKey,
  limit: number,
): Promise<TaskRevision[]> => {
  const rows = await rowsOf<Row>(
    db,
    `select record, revision, verify_tries from task_items
     where (owner_user_id, task_id) > (:owner_user_id, :task_id)
     order by owner_user_id, task_id limit :limit`,
    { ...after, limit },
  )
  return rows.map(readRow)
}

export const taskItemRevision = async (
  db: Connection,
  { owner_user_id, task_id }: TaskItemKey,
): Promise<number | undefined> =>
  (
    await firstRow<{ revision: number }>(
      db,
      `select revision from task_items
       where owner_user_id = :owner_user_id and task_id = :task_id`,
      { owner_user_id, task_id },
    )
  )?.revision
