import type { Bus } from '@guildhall/bus'
import {
  ATTEMPTS_MAX_MAX,
  GoalId,
  QueueName,
  TaskId,
  taskItemId,
  UserId,
  VerifierConfig,
  type WorkRecord,
  workKey,
} from '@guildhall/contracts'
import { addAllToOutbox, type OutboxRow, type Trx } from '@guildhall/db'
import type { Clock } from '@guildhall/runtime'
import { z } from 'zod'
import { ring } from './doorbell.ts'
import { newItem } from './new-item.ts'
import type { WorkRecords } from './store/work-records.ts'
import { transition } from './transition.ts'
import { cancelledByOwner } from './work-item.ts'

/**
 * The claim record of a leaf task follows its row: it is made when the tree is approved and ended
 * when the goal is cancelled. Both travel through the outbox, so that a row and its record cannot
 * part for ever, wherever a process dies. In between the record decides, and the row follows it.
 */

const CREATE = 'claim.create'
const CANCEL = 'claim.cancel'

const NewClaimRecord = z.strictObject({
  user_id: UserId,
  task_id: TaskId,
  goal_id: GoalId,
  queue: QueueName,
  title: z.string(),
  verifier: VerifierConfig,
  created_at: z.int(),
  /** One ring for a queue is enough to wake those who wait at it. */
  ring: z.boolean(),
})
export type NewClaimRecord = z.infer<typeof NewClaimRecord>

const CancelledTask = z.strictObject({ user_id: UserId, task_id: TaskId })
type CancelledTask = z.infer<typeof CancelledTask>

export const goalQueue = (slug: string): string => `goal-${slug}`

const keyOf = ({ user_id, task_id }: CancelledTask): string => workKey(user_id, taskItemId(task_id))

export const createClaimRecordsIn = (trx: Trx, tasks: readonly NewClaimRecord[]): Promise<void> =>
  addAllToOutbox(
    trx,
    tasks.map((task) => ({ subject: CREATE, key: keyOf(task), payload: task })),
  )

export const cancelClaimRecordsIn = (trx: Trx, tasks: readonly CancelledTask[]): Promise<void> =>
  addAllToOutbox(
    trx,
    tasks.map((task) => ({ subject: CANCEL, key: keyOf(task), payload: task })),
  )

/** A task as it is before anybody has claimed it. */
export const pendingRecord = (task: NewClaimRecord): WorkRecord =>
  newItem(
    {
      id: taskItemId(task.task_id),
      owner_id: task.user_id,
      queue: task.queue,
      priority: 'normal',
      title: task.title,
      source: 'goal',
      kind: 'task',
      payload_size: 0,
      content_type: 'application/json',
      max_attempts: ATTEMPTS_MAX_MAX,
      task: { task_id: task.task_id, goal_id: task.goal_id, verifier: task.verifier },
    },
    task.created_at,
  )

interface ClaimRecords {
  readonly bus: Bus
  readonly clock: Clock
  readonly records: WorkRecords
}

/** True when this call made it; a record that is there is left as it is. */
export const ensureClaimRecord = async (
  { bus, records }: ClaimRecords,
  task: NewClaimRecord,
): Promise<boolean> => {
  const record = pendingRecord(task)
  if ((await records.create(record)) === undefined) return false
  if (task.ring) ring({ bus }, record)
  return true
}

/** True when this call ended it. One that has ended by itself stays as it ended. */
export const cancelClaimRecord = async (
  { clock, records }: ClaimRecords,
  { user_id, task_id }: CancelledTask,
): Promise<boolean> => {
  const result = await transition<undefined>(records, user_id, taskItemId(task_id), (entry) => {
    const next = entry === undefined ? undefined : cancelledByOwner(entry.value, clock.now())
    return next === undefined ? { answer: undefined } : { write: next }
  })
  return 'written' in result
}

/** False: the row of the outbox is about something else. */
export const relayClaimRow = async (
  claims: ClaimRecords,
  { subject, payload }: Pick<OutboxRow, 'subject' | 'payload'>,
): Promise<boolean> => {
  if (subject === CREATE) await ensureClaimRecord(claims, NewClaimRecord.parse(payload))
  else if (subject === CANCEL) await cancelClaimRecord(claims, CancelledTask.parse(payload))
  else return false
  return true
}
