import { RETENTION_DAYS } from '@guildhall/contracts'
import { interval, type Part } from '@guildhall/runtime'
import type { Deps } from '../deps.ts'
import { INBOX_SWEEP_INTERVAL_MS, INBOX_SWEEP_PAGE } from '../limits.ts'
import { forgetReceived } from '../store/inbox.ts'

/** The stream keeps events for so long, so none that is older can come again. One page per run. */
const KEPT_MS = 2 * RETENTION_DAYS * 86_400_000

export const sweepInbox = async ({ db, clock }: Pick<Deps, 'db' | 'clock'>): Promise<number> =>
  await forgetReceived(db, {
    before: new Date(clock.now() - KEPT_MS),
    limit: INBOX_SWEEP_PAGE,
  })

export const retention = (deps: Deps): Part =>
  interval({
    name: 'retention',
    every_ms: INBOX_SWEEP_INTERVAL_MS,
    log: deps.log,
    run: async () => {
      await sweepInbox(deps)
    },
  })
