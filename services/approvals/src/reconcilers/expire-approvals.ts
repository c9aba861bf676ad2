import { type Db, transaction } from '@guildhall/db'
import { type Clock, interval, type Logger, type Part } from '@guildhall/runtime'
import { systemCall } from '../call.ts'
import { APPROVAL_SWEEP_INTERVAL_MS, APPROVAL_SWEEP_PAGE } from '../limits.ts'
import { announceSettled, tellAskerIn } from '../settled.ts'
import { overdueApprovals, settlePending } from '../store/approvals.ts'

/**
 * An approval that nobody decided ends as `expired`, which is no rejection: the agent may ask again.
 * No decision waits for this to run; a decision that comes too late is refused by the time itself.
 */
export const expireApprovals = async (db: Db, clock: Pick<Clock, 'now'>): Promise<number> => {
  const now = new Date(clock.now())
  return await transaction(db, async (trx) => {
    const overdue = await overdueApprovals(trx, now, APPROVAL_SWEEP_PAGE)
    for (const key of overdue) {
      const approval = await settlePending(trx, key, {
        status: 'expired',
        decided_at: now,
        decided_by_user_id: null,
      })
      if (approval === undefined) continue
      const call = systemCall(key.user_id, now)
      await announceSettled(trx, call, approval, 'expired')
      await tellAskerIn(trx, call, approval, 'Nobody decided in time: this has expired.')
    }
    return overdue.length
  })
}

export const approvalExpiry = (db: Db, clock: Clock, log: Logger): Part =>
  interval({
    name: 'approval-expiry',
    every_ms: APPROVAL_SWEEP_INTERVAL_MS,
    log,
    run: async () => {
      await expireApprovals(db, clock)
    },
  })
