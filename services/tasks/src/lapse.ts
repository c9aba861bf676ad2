import type { WorkRecord } from '@guildhall/contracts'
import type { Tasks } from './context.ts'
import { ring } from './doorbell.ts'
import { followTaskLater } from './task-effects.ts'
import { isTask } from './task-item.ts'
import { reaped, revoked } from './work-item.ts'
import { buryPayload, finishMessage, returnMessage } from './work-messages.ts'

/** Ending a claim that its holder did not end. Returns whether this call did it. */

const settle = async (
  tasks: Tasks,
  next: WorkRecord | undefined,
  revision: number,
  reason: string,
): Promise<boolean> => {
  if (next === undefined) return false
  if (next.dead_letter) await buryPayload(tasks, next, reason)
  const written = await tasks.records.replace(next, revision)
  if (written === undefined) return false
  if (isTask(next)) {
    await followTaskLater(tasks, { record: next, revision: written })
    if (!next.dead_letter) ring(tasks, next)
    return true
  }
  if (next.dead_letter) {
    finishMessage(tasks.bus, next.ack_subject)
    tasks.log.warn({ todo_id: next.id, attempts: next.attempts_total, reason }, 'dead letter')
  } else {
    returnMessage(tasks.bus, next.ack_subject)
    ring(tasks, next)
  }
  return true
}

/** The lease ended with no word from the holder. */
export const closeLapsed = (tasks: Tasks, record: WorkRecord, revision: number): Promise<boolean> =>
  settle(tasks, reaped(record, tasks.clock.now()), revision, 'the lease of the last attempt ended')

/** The endpoint that holds the claim was revoked. */
export const closeRevoked = (
  tasks: Tasks,
  record: WorkRecord,
  revision: number,
): Promise<boolean> =>
  settle(tasks, revoked(record, tasks.clock.now()), revision, 'the endpoint was revoked')
