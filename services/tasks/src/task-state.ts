import { TaskStatus } from '@guildhall/contracts'

/**
 * Which status of a task may follow which. A leaf is worked on; a lease that ends, or is given back,
 * returns it to approved. A parent is never worked on: it ends when its children have ended.
 */
const leafMoves: Readonly<Record<TaskStatus, readonly TaskStatus[]>> = {
  proposed: ['approved', 'cancelled'],
  approved: ['claimed', 'failed', 'cancelled'],
  claimed: ['in_progress', 'awaiting_verification', 'approved', 'failed', 'cancelled'],
  in_progress: ['awaiting_verification', 'approved', 'failed', 'cancelled'],
  awaiting_verification: ['done', 'failed', 'cancelled'],
  done: [],
  failed: [],
  cancelled: [],
}

const parentMoves: Readonly<Partial<Record<TaskStatus, readonly TaskStatus[]>>> = {
  proposed: ['approved', 'cancelled'],
  approved: ['done', 'failed', 'cancelled'],
}

export const mayMoveTask = (from: TaskStatus, to: TaskStatus, is_leaf = true): boolean =>
  (is_leaf ? leafMoves : parentMoves)[from]?.includes(to) ?? false

export const taskStatesBefore = (to: TaskStatus, is_leaf = true): readonly TaskStatus[] =>
  TaskStatus.options.filter((from) => mayMoveTask(from, to, is_leaf))

const hasEnded = (status: TaskStatus): boolean => leafMoves[status].length === 0

export const openTaskStates: readonly TaskStatus[] = TaskStatus.options.filter(
  (status) => !hasEnded(status),
)

/**
 * What its children make of a parent; undefined: it goes on. One that failed fails it, but not
 * before the others have ended, since their work still counts.
 */
export const parentOutcome = (
  children: readonly TaskStatus[],
): 'done' | 'failed' | 'cancelled' | undefined => {
  if (children.length === 0 || !children.every(hasEnded)) return undefined
  if (children.includes('failed')) return 'failed'
  return children.includes('cancelled') ? 'cancelled' : 'done'
}
