import { taskItemId, type WorkRecord } from '@guildhall/contracts'
import { transaction } from '@guildhall/db'
import { interval, type Part } from '@guildhall/runtime'
import { releaseHoldIn } from '../budget.ts'
import { cancelClaimRecord, ensureClaimRecord } from '../claim-records.ts'
import type { Tasks } from '../context.ts'
import { goalRecord, openGoalProjection, type Projected, taskRecord } from '../goal-projection.ts'
import { leavesAfter } from '../store/goal-claims.ts'
import { goalsAfter } from '../store/goals.ts'
import { holdsBefore, type OpenHold } from '../store/holds.ts'
import { tasksAfter } from '../store/tasks.ts'

/**
 * Goals and tasks have the authority in PostgreSQL; the bucket `goals` and the claim records of tasks
 * can be made again from it. The outbox keeps both current; this is for a bucket that was lost.
 */

export interface ReconciledGoals {
  /** Entries of the bucket `goals` that were missing or behind. */
  goals_projected: number
  /** Claim records of open tasks that the bucket `work` had lost. */
  claim_records_restored: number
  claim_records_cancelled: number
  /** Holds without a claim that they are for. */
  holds_released: number
}

const PAGE = 500
const AT_ONCE = 16

const inGroups = async <T>(items: readonly T[], work: (item: T) => Promise<boolean>) => {
  let done = 0
  for (let start = 0; start < items.length; start += AT_ONCE) {
    const group = await Promise.all(items.slice(start, start + AT_ONCE).map(work))
    done += group.filter(Boolean).length
  }
  return done
}

/** Page by page by id, until a page is not full. */
const everyPage = async <T>(
  read: (after: number) => Promise<T[]>,
  idOf: (row: T) => number,
  work: (rows: readonly T[]) => Promise<number>,
): Promise<number> => {
  let after = 0
  let done = 0
  for (;;) {
    const rows = await read(after)
    done += await work(rows)
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE) return done
    after = idOf(last)
  }
}

const projectAll = async (tasks: Tasks): Promise<number> => {
  const { apply } = openGoalProjection(tasks.bus)
  const write = (records: readonly Projected[]) => inGroups(records, apply)
  return (
    (await everyPage(
      (after) => goalsAfter(tasks.db, after, PAGE),
      (row) => row.goal_id,
      (rows) => write(rows.map(goalRecord)),
    )) +
    (await everyPage(
      (after) => tasksAfter(tasks.db, after, PAGE),
      (row) => row.task_id,
      (rows) => write(rows.map(taskRecord)),
    ))
  )
}

const restoreClaimRecords = async (tasks: Tasks, report: ReconciledGoals): Promise<void> => {
  await everyPage(
    (after) => leavesAfter(tasks.db, after, PAGE),
    (leaf) => leaf.task_id,
    async (leaves) => {
      report.claim_records_cancelled += await inGroups(
        leaves.filter(({ cancelled }) => cancelled),
        (leaf) => cancelClaimRecord(tasks, leaf),
      )
      const restored = await inGroups(
        leaves.filter(({ open }) => open),
        ({ open: _open, cancelled: _cancelled, approved_at, ...leaf }) =>
          ensureClaimRecord(tasks, {
            ...leaf,
            approved_at: Date.parse(approved_at),
            ring: true,
          }),
      )
      report.claim_records_restored += restored
      return restored
    },
  )
}

/** A claim takes far less from its hold to its compare-and-set. */
const HOLD_UNCLAIMED_MS = 60_000

/** A hold is for the open claim, or for one whose usage is still to be recorded. */
const isHeldFor = (record: WorkRecord | undefined, hold: OpenHold): boolean => {
  if (record?.attempts_total !== hold.claim_seq) return false
  if (record.state === 'claimed') return record.claim_key_hash === hold.claim_key_hash
  return record.task?.report !== undefined
}

const releaseOrphan = async (tasks: Tasks, hold: OpenHold): Promise<boolean> => {
  const { owner_user_id, task_id, claim_seq, claim_key_hash } = hold
  const entry = await tasks.records.loadFresh(owner_user_id, taskItemId(task_id))
  if (isHeldFor(entry?.value, hold)) return false
  await transaction(tasks.db, (trx) =>
    releaseHoldIn(trx, { owner_user_id, task_id, claim_seq, claim_key_hash }),
  )
  return true
}

export const releaseOrphanedHolds = async (tasks: Tasks): Promise<number> => {
  const before = new Date(tasks.clock.now() - HOLD_UNCLAIMED_MS)
  let after = 0
  let released = 0
  for (;;) {
    // One row for each claimant of each task in the page, so its length says nothing.
    const holds = await holdsBefore(tasks.db, before, after, PAGE)
    released += await inGroups(holds, (hold) => releaseOrphan(tasks, hold))
    const last = holds.at(-1)
    if (last === undefined) return released
    after = last.task_id
  }
}

export const reconcileGoals = async (tasks: Tasks): Promise<ReconciledGoals> => {
  const report: ReconciledGoals = {
    goals_projected: await projectAll(tasks),
    claim_records_restored: 0,
    claim_records_cancelled: 0,
    holds_released: 0,
  }
  await restoreClaimRecords(tasks, report)
  report.holds_released = await releaseOrphanedHolds(tasks)
  return report
}

const HOLDS_EVERY_MS = 30_000

/** What a process held when it died between hold and claim comes back by this. */
export const holdsReconciler = (tasks: Tasks): Part =>
  interval({
    name: 'holds',
    every_ms: HOLDS_EVERY_MS,
    log: tasks.log,
    run: async () => {
      const released = await releaseOrphanedHolds(tasks)
      if (released > 0) tasks.log.warn({ released }, 'holds without a claim were released')
    },
  })
