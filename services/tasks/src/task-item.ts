import type { TaskPart, TaskStatus, WorkRecord } from '@guildhall/contracts'
import { type Claim, claimed, closeAttempt } from './work-item.ts'

/**
 * The state machine of a leaf task, beside that of a todo: pure functions from its claim record to
 * the next. Heartbeat, release, lapse and revocation are those of every work item.
 *
 *   pending (approved)        -> claimed (in progress)       claim
 *   claimed                   -> awaiting_verification       submit
 *   claimed                   -> pending | failed            release, lapse, revocation
 *   awaiting_verification     -> done | failed               the verdict
 *   whatever has not ended    -> failed (cancelled)          its owner, or the end of its goal
 *
 * `task.holder_agent_id` and `task.config_hash` stay behind when a claim ends: they say about whom
 * the evidence is. That is why a claim never takes over a lapsed lease in one write, as one of a
 * todo does: the lapse is a revision of its own, and names the one who let it lapse.
 */

export type TaskItem = WorkRecord & { readonly task: TaskPart }

export const isTask = (record: WorkRecord): record is TaskItem => record.task !== undefined

/** Unlike a todo, a failed task is not tried again: another is proposed in its place. */
const isTaskOver = (record: WorkRecord): boolean =>
  record.state === 'done' || record.state === 'failed'

/** The words of the contract for the states of the record. A claim is work in progress at once. */
export const taskStatus = (record: TaskItem): TaskStatus => {
  switch (record.state) {
    case 'pending':
      return 'approved'
    case 'claimed':
      return 'in_progress'
    case 'failed':
      return record.task.cancelled === true ? 'cancelled' : 'failed'
    case 'awaiting_verification':
    case 'done':
      return record.state
  }
}

export interface TaskClaim extends Claim {
  readonly agent_id: number
  /** Of the claimer as it is now: whatever becomes of the work will be said of this one. */
  readonly config_hash: string
}

export const taskClaimed = (
  record: TaskItem,
  { agent_id, config_hash, ...claim }: TaskClaim,
  now: number,
): TaskItem | undefined => {
  if (record.state !== 'pending') return undefined
  const next = claimed(record, claim, now)
  if (next === undefined) return undefined
  return { ...next, task: { ...record.task, holder_agent_id: agent_id, config_hash } }
}

export interface TaskReport {
  readonly summary: string | null
  readonly artifact: string | null
  readonly tokens: number
  readonly cost_minor: number
  /** The report as the attempt shows it: cut to what a list can bear. */
  readonly attempt_summary: string | null
  readonly attempt_summary_truncated: boolean
  readonly key_hash: string | undefined
}

export const taskSubmitted = (
  record: TaskItem,
  report: TaskReport,
  now: number,
): TaskItem | undefined => {
  if (record.state !== 'claimed') return undefined
  const closed = closeAttempt(
    record,
    {
      outcome: 'completed',
      disposition: 'done',
      summary: report.attempt_summary,
      summary_truncated: report.attempt_summary_truncated,
      artifact: report.artifact,
    },
    now,
  )
  return {
    ...closed,
    // Kept, so that a repeat after a lost answer is told from a late word of an earlier claim.
    ...(record.lease_token_hash === undefined ? {} : { lease_token_hash: record.lease_token_hash }),
    ...(record.require_fence === undefined ? {} : { require_fence: record.require_fence }),
    ...(report.key_hash === undefined ? {} : { last_key_hash: report.key_hash }),
    state: 'awaiting_verification',
    task: {
      ...record.task,
      report: {
        summary: report.summary,
        artifact: report.artifact,
        tokens: report.tokens,
        cost_minor: report.cost_minor,
        submitted_at: now,
      },
    },
  }
}

export type Verdict = Omit<NonNullable<TaskPart['verdict']>, 'at'>

export const taskVerified = (
  record: TaskItem,
  verdict: Verdict,
  now: number,
): TaskItem | undefined => {
  if (record.state !== 'awaiting_verification') return undefined
  return {
    ...record,
    state: verdict.approved ? 'done' : 'failed',
    dead_letter: !verdict.approved,
    task: { ...record.task, verdict: { ...verdict, at: now } },
    updated_at: now,
  }
}

export const taskCancelled = (record: TaskItem, now: number): TaskItem | undefined => {
  if (isTaskOver(record)) return undefined
  const closed = closeAttempt(
    record,
    {
      outcome: 'canceled',
      disposition: 'canceled',
      summary: null,
      summary_truncated: false,
      artifact: null,
    },
    now,
  )
  return {
    ...closed,
    state: 'failed',
    dead_letter: true,
    task: { ...record.task, cancelled: true },
  }
}
