import type { Db } from '@guildhall/db'
import { type Clock, interval, type Logger, type Part } from '@guildhall/runtime'
import {
  CREDENTIAL_CLAIM_KEPT_MS,
  IDEMPOTENCY_WINDOW_MS,
  INBOX_KEPT_MS,
  LOGIN_LINK_KEPT_MS,
  LOGIN_WINDOW_MS,
  SWEEP_INTERVAL_MS,
  SWEEP_PAGE,
} from './limits.ts'
import { type PerishableTable, sweepInbox, sweepTable } from './store/sweep.ts'

const KEPT_MS: Readonly<Record<PerishableTable, number>> = {
  login_links: LOGIN_LINK_KEPT_MS,
  login_attempts: LOGIN_WINDOW_MS,
  credential_claims: CREDENTIAL_CLAIM_KEPT_MS,
  idempotent_calls: IDEMPOTENCY_WINDOW_MS,
}

/** Forgets what no decision depends on any more. One page per table and run; the rest can wait. */
export const sweep = async (db: Db, clock: Clock): Promise<void> => {
  for (const [table, kept_ms] of Object.entries(KEPT_MS)) {
    await sweepTable(db, table as PerishableTable, {
      // the keys of KEPT_MS
      before: new Date(clock.now() - kept_ms),
      limit: SWEEP_PAGE,
    })
  }
  await sweepInbox(db, { kept_ms: INBOX_KEPT_MS, limit: SWEEP_PAGE })
}

export const sweeper = (db: Db, clock: Clock, log: Logger): Part =>
  interval({
    name: 'sweeper',
    every_ms: SWEEP_INTERVAL_MS,
    log,
    run: () => sweep(db, clock),
  })
