import { taskItemId } from '@guildhall/contracts'
import type { Tasks } from './context.ts'
import { followTaskLater } from './task-effects.ts'
import { isTask, type TaskItem, taskVerified, type Verdict } from './task-item.ts'

/** Where a verdict takes effect, whoever gives it: one compare-and-set, and what follows from it. */

export interface Awaiting {
  readonly record: TaskItem
  readonly revision: number
}

export const loadTask = async (
  tasks: Pick<Tasks, 'records'>,
  owner_id: number,
  task_id: number,
): Promise<Awaiting | undefined> => {
  const entry = await tasks.records.loadFresh(owner_id, taskItemId(task_id))
  if (entry === undefined || !isTask(entry.value)) return undefined
  return { record: entry.value, revision: entry.revision }
}

/**
 * Gives the verdict on what was handed in with this revision. Undefined: the task has a verdict
 * already, or was taken away from its verifier.
 */
export const giveVerdict = async (
  tasks: Tasks,
  { record, revision }: Awaiting,
  verdict: Verdict,
): Promise<TaskItem | undefined> => {
  const next = taskVerified(record, verdict, tasks.clock.now())
  if (next === undefined) return undefined
  const written = await tasks.records.replace(next, revision)
  if (written === undefined) return undefined
  await followTaskLater(tasks, { record: next, revision: written })
  return next
}
