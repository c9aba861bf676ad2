import type { WorkRecord } from '@guildhall/contracts'
import type { Tasks } from '../context.ts'
import {
  type TaskItemKey,
  type TaskRevision,
  taskItemRevision,
  taskItemsAfter,
} from '../store/task-items.ts'
import { findTask } from '../store/tasks.ts'
import { followTasks } from '../task-effects.ts'

/** The part of `reconcile` that is about the claim records of tasks. */

const PAGE = 500
const FIRST: TaskItemKey = { owner_user_id: 0, task_id: 0 }

/** Records that the bucket had lost. One that no projection knows is made by the next claim. */
export const restoreTaskRecords = async (
  tasks: Tasks,
  asLost: (record: WorkRecord) => WorkRecord,
): Promise<number> => {
  let after = FIRST
  let restored = 0
  for (;;) {
    const page = await taskItemsAfter(tasks.db, after, PAGE)
    for (const { record } of page) {
      after = { owner_user_id: record.owner_id, task_id: record.task.task_id }
      if ((await tasks.records.loadFresh(record.owner_id, record.id)) !== undefined) continue
      if ((await tasks.records.create(asLost(record))) !== undefined) restored += 1
    }
    if (page.length < PAGE) return restored
  }
}

/** True: what the record says had not reached the tables, or not the row of the task. */
export const reprojectTask = async (tasks: Tasks, revision: TaskRevision): Promise<boolean> => {
  const { record } = revision
  const key = { owner_user_id: record.owner_id, task_id: record.task.task_id }
  const projected = await taskItemRevision(tasks.db, key)
  const row = await findTask(tasks.db, key)
  // A heartbeat moves the record and its projection, and leaves the row of the task as it is.
  const behind = projected === undefined || projected < revision.revision
  if (!behind && (row === undefined || row.revision > 0 || record.attempts_total === 0))
    return false
  await followTasks(tasks, [revision])
  return true
}
