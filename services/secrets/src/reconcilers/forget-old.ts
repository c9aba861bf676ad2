import { RETENTION_DAYS } from '@guildhall/contracts'
import { interval, type Part } from '@guildhall/runtime'
import type { Deps } from '../deps.ts'
import { CALL_KEPT_MS, FORGET_BATCH, FORGET_BATCHES_MAX, FORGET_EVERY_MS } from '../limits.ts'
import { forgetRows, type Perishable } from '../store/forget.ts'

const DAY_MS = 86_400_000
/** The stream of events keeps a message as long, so nothing older can be delivered again. */
const EVENTS_KEPT_MS = (RETENTION_DAYS + 1) * DAY_MS

const KEPT_MS: Readonly<Record<Perishable, number>> = {
  calls: CALL_KEPT_MS,
  resource_requests: EVENTS_KEPT_MS,
  inbox: EVENTS_KEPT_MS,
}

/** Forgets what no decision depends on any more, in batches. */
export const forgetOldRows = async ({ db, clock }: Pick<Deps, 'db' | 'clock'>): Promise<void> => {
  for (const [table, kept_ms] of Object.entries(KEPT_MS)) {
    const before = new Date(clock.now() - kept_ms)
    for (let batch = 0; batch < FORGET_BATCHES_MAX; batch += 1) {
      // the keys of KEPT_MS
      const gone = await forgetRows(db, table as Perishable, before, FORGET_BATCH)
      if (gone < FORGET_BATCH) break
    }
  }
}

export const forgetOld = (deps: Pick<Deps, 'db' | 'clock' | 'log'>): Part =>
  interval({
    name: 'forget-old',
    every_ms: FORGET_EVERY_MS,
    log: deps.log,
    run: () => forgetOldRows(deps),
  })
