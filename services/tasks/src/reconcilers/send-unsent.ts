import { SWEEP_BATCH, UNSENT_AFTER_MS } from '@guildhall/contracts'
import type { Tasks } from '../context.ts'
import { restoreMessage } from '../restore-message.ts'
import { forgetWithdrawn, listUnsent, markSent, type ProjectedRow } from '../store/todos.ts'
import { isEnqueued } from '../work-messages.ts'

/**
 * The other half of create_todo: its creator may have died between record and message. What can be
 * sent is sent. A payload, however, dies with its creator, who then never answered: such a todo was
 * promised to nobody and is taken back, so that no list shows work that claim_next can never hand
 * out, and the caller's repeat creates it anew.
 *
 * Taking back is a compare-and-set. A creator that was only slow writes the record again when it is
 * done (`send` in create-todo.ts), so one of the two always sees the other.
 */

/** Whether there is nothing more to look at. */
const settle = async (tasks: Tasks, { record: seen, revision }: ProjectedRow): Promise<boolean> => {
  const { records, clock, db, log } = tasks
  const todo_id = seen.id
  const entry = await records.loadFresh(seen.owner_id, todo_id)
  if (entry === undefined) {
    // Taken back, and the row was left over; with a message it is a matter for `make reconcile`.
    if (!(await isEnqueued(tasks, seen))) await forgetWithdrawn(db, todo_id, revision)
    return true
  }
  const message = await restoreMessage(tasks, entry.value)
  if (message === 'restored') log.warn({ todo_id }, 'a todo that its creator left unsent was sent')
  if (message !== 'no payload') return true
  if (entry.value.attempts_total > 0) {
    log.error({ todo_id }, 'item without a payload')
    return true
  }
  if (entry.value.updated_at > clock.now() - UNSENT_AFTER_MS) return false
  if (!(await records.withdraw(entry.value, entry.revision))) return false
  log.warn({ todo_id }, 'a todo that its creator never finished was taken back')
  await forgetWithdrawn(db, todo_id, entry.revision)
  return true
}

export const sendUnsent = async (tasks: Tasks): Promise<void> => {
  const before = tasks.clock.now() - UNSENT_AFTER_MS
  for (const row of await listUnsent(tasks.db, before, SWEEP_BATCH)) {
    if (await settle(tasks, row)) await markSent(tasks.db, row.record.id, row.revision)
  }
}
