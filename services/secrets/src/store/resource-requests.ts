import type { ApprovalDecided, ApprovalRequested } from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import { type Connection, rowsOf } from '@guildhall/db'
import type { Reach, Scope } from '../access.ts'
import type { Place } from './secrets.ts'

/** What agents asked for and have not got, as the events of approvals tell it. */

/**
 * Does nothing where the request is known: it may have been closed already, since a message that
 * had to be retried comes late. What a secret serves already is closed from the start.
 */
export const openRequest = async (trx: Trx, event: ApprovalRequested): Promise<void> => {
  await rowsOf(
    trx,
    `insert into resource_requests
       (approval_id, user_id, agent_id, task_id, name, requested_at, closed_at)
     select cast(:approval_id as bigint), cast(:user_id as bigint), cast(:agent_id as bigint),
       cast(:task_id as bigint), cast(:name as text), cast(:at as timestamptz),
       (select max(created_at) from secrets where user_id = :user_id and name = :name
          and revoked_at is null and created_at >= cast(:at as timestamptz) and (
            (scope_type = 'task' and scope_id = :task_id)
            or (scope_type = 'agent' and scope_id = :agent_id)
            or scope_type = 'user'))
     on conflict (approval_id) do nothing`,
    {
      approval_id: event.approval_id,
      user_id: event.user_id,
      agent_id: event.agent_id,
      task_id: event.task_id,
      name: event.resource_name,
      at: new Date(event.at),
    },
  )
}

/** Also leaves a mark where the request itself has not arrived yet. */
export const closeRequest = async (trx: Trx, event: ApprovalDecided): Promise<void> => {
  await rowsOf(
    trx,
    `insert into resource_requests as known (approval_id, user_id, closed_at)
     values (:approval_id, :user_id, :at)
     on conflict (approval_id) do update set closed_at = excluded.closed_at
     where known.user_id = excluded.user_id and known.closed_at is null`,
    { approval_id: event.approval_id, user_id: event.user_id, at: new Date(event.at) },
  )
}

/** A secret that was just set serves every request that its scope covers. */
export const closeServed = async (
  trx: Trx,
  { user_id, scope_type, scope_id, name }: Place,
  now: Date,
): Promise<void> => {
  await rowsOf(
    trx,
    `update resource_requests set closed_at = :now
     where user_id = :user_id and name = :name and closed_at is null and (
       :scope_type = 'user'
       or (:scope_type = 'agent' and agent_id = :scope_id)
       or (:scope_type = 'task' and task_id = :scope_id))`,
    { user_id, scope_type, scope_id, name, now },
  )
}

interface OpenRequest {
  readonly name: string
  readonly task_id: number | null
}

/** What this agent waits for; for a person, what was asked for the task. */
export const listOpenWithinReach = (
  db: Connection,
  { user_id, agent_id, task_id }: Reach,
): Promise<OpenRequest[]> =>
  rowsOf(
    db,
    `select distinct name, task_id from resource_requests
     where user_id = :user_id and closed_at is null
       and (agent_id = :agent_id or task_id = :task_id) order by name`,
    { user_id, agent_id, task_id },
  )

/** Names that were asked for and that a secret of this scope would serve. */
export const listOpenNames = (
  db: Connection,
  user_id: number,
  { scope_type, scope_id }: Scope,
): Promise<{ readonly name: string }[]> =>
  rowsOf(
    db,
    `select distinct name from resource_requests
     where user_id = :user_id and closed_at is null and (
       :scope_type = 'user'
       or (:scope_type = 'agent' and agent_id = :scope_id)
       or (:scope_type = 'task' and task_id = :scope_id)) order by name`,
    { user_id, scope_type, scope_id },
  )
