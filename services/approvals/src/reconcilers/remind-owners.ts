import { APPROVAL_REMINDERS_AFTER_SECONDS } from '@guildhall/contracts'
import { type Db, transaction } from '@guildhall/db'
import { type Clock, interval, type Logger, type Part } from '@guildhall/runtime'
import { APPROVAL_SWEEP_INTERVAL_MS, APPROVAL_SWEEP_PAGE } from '../limits.ts'
import { countReminder } from '../store/approvals.ts'
import { tellOwnerIn } from '../tell.ts'

/**
 * Tells the owner what waits for them, each reminder once. The latest comes first: after an outage
 * over which two came due, one message says it all.
 */
export const remindOwners = async (db: Db, clock: Pick<Clock, 'now'>): Promise<number> => {
  const now = new Date(clock.now())
  let sent = 0
  for (const [index, after_seconds] of [...APPROVAL_REMINDERS_AFTER_SECONDS.entries()].reverse()) {
    sent += await transaction(db, async (trx) => {
      const due = await countReminder(trx, {
        number: index + 1,
        created_before: new Date(now.getTime() - after_seconds * 1_000),
        now,
        limit: APPROVAL_SWEEP_PAGE,
      })
      for (const { user_id, approval_id, title, expires_at } of due) {
        await tellOwnerIn(
          trx,
          { user_id, now },
          {
            body: `Waiting for your decision: ${title}. It expires at ${expires_at}.`,
            approval_id,
          },
        )
      }
      return due.length
    })
  }
  return sent
}

export const ownerReminders = (db: Db, clock: Clock, log: Logger): Part =>
  interval({
    name: 'owner-reminders',
    every_ms: APPROVAL_SWEEP_INTERVAL_MS,
    log,
    run: async () => {
      await remindOwners(db, clock)
    },
  })
