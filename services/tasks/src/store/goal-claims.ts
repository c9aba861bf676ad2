import { type Connection, rowsOf } from '@guildhall/db'
import type { NewClaimRecord } from '../claim-records.ts'
import { openTaskStates } from '../task-state.ts'

/** Leaf tasks as their claim records should be found: for the reconciler. */

interface LeafTask extends Omit<NewClaimRecord, 'ring' | 'approved_at'> {
  readonly open: boolean
  readonly cancelled: boolean
  readonly approved_at: string
}

/** A page after an id, of all owners: leaves that are open, or whose goal was cancelled. */
export const leavesAfter = (db: Connection, after: number, limit: number): Promise<LeafTask[]> =>
  rowsOf(
    db,
    `select tasks.owner_user_id as owner_id, tasks.task_id, tasks.goal_id, goals.slug, tasks.title,
       tasks.verifier_config as verifier, tasks.approved_at,
       tasks.status = any(:open) as open, tasks.status = 'cancelled' as cancelled
     from tasks join goals on goals.goal_id = tasks.goal_id
     where tasks.is_leaf and tasks.task_id > :after
       and (tasks.status = any(:open) or tasks.status = 'cancelled')
     order by tasks.task_id limit :limit`,
    { after, limit, open: openTaskStates },
  )
