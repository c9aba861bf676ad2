import type { Trx } from '@guildhall/db'
import { rowsOf } from '@guildhall/db'
import { taskStatus } from '../task-item.ts'
import { storableOrNull } from './json.ts'
import type { TaskRevision } from './task-items.ts'

const at = (ms: number | undefined): Date | null => (ms === undefined ? null : new Date(ms))

/** When the claim was made that holds the task, or that its report came from. */
const claimedAt = ({ record }: TaskRevision): Date | null => {
  if (record.state === 'pending') return null
  const open = record.open_attempt?.claimed_at
  if (open !== undefined) return new Date(open)
  const last = record.prior_attempts[0]?.claimed_at
  return last === undefined ? null : new Date(last)
}

export const NO_ATTEMPT_LEFT = 'no attempt is left'

const failureOf = ({ record }: TaskRevision): string | null => {
  if (record.state !== 'failed') return null
  if (record.task.cancelled === true) return 'cancelled'
  const { verdict } = record.task
  return verdict === undefined ? NO_ATTEMPT_LEFT : (verdict.reason ?? 'rejected')
}

/** The row of the task as its claim record has it. A record that is older changes nothing. */
export const followTaskIn = async (trx: Trx, revision: TaskRevision): Promise<void> => {
  const { record } = revision
  const { task } = record
  const over = record.state === 'done' || record.state === 'failed'
  await rowsOf(
    trx,
    `update tasks set
       status = :status, assignee_agent_id = :assignee, claimed_at = :claimed_at,
       started_at = coalesce(started_at, :claimed_at), completed_at = :completed_at,
       result_summary = :result_summary, artifact = :artifact, failure_reason = :failure_reason,
       revision = :revision, updated_at = :updated_at
     where owner_user_id = :owner_user_id and task_id = :task_id and revision < :revision
       -- Cancelled with its goal: the record follows, and until then only an end can overtake it.
       and (status <> 'cancelled' or :over)`,
    {
      owner_user_id: record.owner_id,
      task_id: task.task_id,
      status: taskStatus(record),
      assignee: record.state === 'pending' ? null : (task.holder_agent_id ?? null),
      claimed_at: claimedAt(revision),
      completed_at: over ? at(record.updated_at) : null,
      result_summary: storableOrNull(task.report?.summary ?? null),
      artifact: storableOrNull(task.report?.artifact ?? null),
      failure_reason: storableOrNull(failureOf(revision)),
      revision: revision.revision,
      over,
      updated_at: at(record.updated_at),
    },
  )
}
