import { createKv } from '@guildhall/bus'
import { buckets, RETENTION_DAYS, WorkRecord, workKey } from '@guildhall/contracts'
import { interval, type Part } from '@guildhall/runtime'
import type { Tasks } from '../context.ts'
import { forgetRings } from '../store/rings.ts'
import { forget, listForgettable } from '../store/todos.ts'

/** Forgets what was finished long ago. What is pending, claimed or to be retried is never touched. */

const EVERY_MS = 3_600_000
const PAGE = 500
const PAGES_MAX = 100
const DAY_MS = 86_400_000

export const forgetOnce = async (tasks: Tasks): Promise<number> => {
  const kv = createKv(tasks.bus, buckets.work, WorkRecord)
  const before = tasks.clock.now() - RETENTION_DAYS * DAY_MS
  let forgotten = 0
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const items = await listForgettable(tasks.db, before, PAGE)
    if (items.length === 0) break
    for (const { owner_id, id } of items) await kv.forget(workKey(owner_id, id))
    await forget(
      tasks.db,
      items.map((item) => item.id),
    )
    forgotten += items.length
  }
  await forgetRings(tasks.db, before)
  return forgotten
}

export const retention = (tasks: Tasks): Part =>
  interval({
    name: 'retention',
    every_ms: EVERY_MS,
    log: tasks.log,
    run: async () => {
      const forgotten = await forgetOnce(tasks)
      if (forgotten > 0) tasks.log.info({ forgotten }, 'old items forgotten')
    },
  })
