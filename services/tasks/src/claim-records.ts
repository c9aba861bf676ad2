import type { Bus } from '@guildhall/bus'
import { GoalId, TaskId, taskItemId, UserId, VerifierConfig, workKey } from '@guildhall/contracts'
import { addAllToOutbox, type OutboxRow, type Trx } from '@guildhall/db'
import type { Clock } from '@guildhall/runtime'
import { z } from 'zod'
import { ring } from './doorbell.ts'
import { newTaskItem } from './new-task-item.ts'
import type { WorkRecords } from './store/work-records.ts'
import { isTask, taskCancelled } from './task-item.ts'
import { transition } from './transition.ts'

/**
 * The claim record of a leaf task follows its row: it is made when the tree is approved and ended
 * when the goal is cancelled. Both travel through the outbox, so that a row and its record cannot
 * part for ever, wherever a process dies. In between the record decides, and the row follows it.
 */

const CREATE = 'claim.create'
const CANCEL = 'claim.cancel'

const NewClaimRecord = z.strictObject({
  owner_id: UserId,
  task_id: TaskId,
  goal_id: GoalId,
  slug: z.string(),
  title: z.string(),
  verifier: VerifierConfig,
  approved_at: z.int(),
  /** One ring for a queue is enough to wake those who wait at it. */
  ring: z.boolean(),
})
export type NewClaimRecord = z.infer<typeof NewClaimRecord>

const CancelledTask = z.strictObject({ owner_id: UserId, task_id: TaskId })
type CancelledTask = z.infer<typeof CancelledTask>

const keyOf = ({ owner_id, task_id }: CancelledTask): string =>
  workKey(owner_id, taskItemId(task_id))

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
  const record = newTaskItem(task, task.approved_at)
  if ((await records.create(record)) === undefined) return false
  if (task.ring) ring({ bus }, record)
  return true
}

/** True when this call ended it. One that has ended by itself stays as it ended. */
export const cancelClaimRecord = async (
  { clock, records }: ClaimRecords,
  { owner_id, task_id }: CancelledTask,
): Promise<boolean> => {
  const result = await transition<undefined>(records, owner_id, taskItemId(task_id), (entry) => {
    const record = entry?.value
    const next =
      record === undefined || !isTask(record) ? undefined : taskCancelled(record, clock.now())
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
