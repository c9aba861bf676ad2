import { RETENTION_DAYS } from '@guildhall/contracts'
import { query, transaction } from '@guildhall/db'
import { interval, type Part } from '@guildhall/runtime'
import type { Deps } from '../deps.ts'
import { ANSWERS_KEPT_MS, forgetAnswers } from '../store/answers.ts'
import { forgetEvents } from '../store/events.ts'
import { endedUrls, forgetEndedSecrets, forgetUrls, forgetWebhooks } from '../store/projection.ts'

/** Retention, in batches, so that no statement holds many rows for long. */

const EVERY_MS = 3_600_000
const DAY_MS = 86_400_000
const BATCH = 500
/** What is left after so many batches is for the next run. */
const BATCHES_MAX = 200

/**
 * Ended URLs and webhooks keep their record in the bucket for a day: a copy that is still under way
 * must find the newer version there, not an empty key.
 */
const ENDED_KEPT_MS = DAY_MS

const forgetEnded = async ({ db, webhooks }: Deps, before_ms: number): Promise<void> => {
  for (let batch = 0; batch < BATCHES_MAX; batch += 1) {
    const ended = await endedUrls(db, before_ms, BATCH)
    for (const key of ended) await webhooks.delete(key)
    await forgetUrls(db, ended)
    if (ended.length < BATCH) break
  }
  await forgetEndedSecrets(db, before_ms)
  for (let batch = 0; batch < BATCHES_MAX; batch += 1) {
    if ((await forgetWebhooks(db, before_ms, BATCH)) < BATCH) break
  }
}

export const forgetOldRows = async (deps: Deps): Promise<void> => {
  const { db, clock } = deps
  const now_ms = clock.now()
  for (let batch = 0; batch < BATCHES_MAX; batch += 1) {
    const before_ms = now_ms - RETENTION_DAYS * DAY_MS
    if ((await query(() => forgetEvents(db, before_ms, BATCH))) < BATCH) break
  }
  await transaction(db, (trx) => forgetAnswers(trx, now_ms - ANSWERS_KEPT_MS))
  await query(() => forgetEnded(deps, now_ms - ENDED_KEPT_MS))
}

export const forgetOld = (deps: Deps): Part =>
  interval({
    name: 'forget-old',
    every_ms: EVERY_MS,
    log: deps.log,
    run: () => forgetOldRows(deps),
  })
