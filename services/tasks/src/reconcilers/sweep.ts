import { RINGS_PER_SWEEP, SWEEP_BATCH, SWEEP_INTERVAL_MS } from '@guildhall/contracts'
import { interval, type Part } from '@guildhall/runtime'
import type { Tasks } from '../context.ts'
import { ring } from '../doorbell.ts'
import { closeLapsed } from '../lapse.ts'
import { takeDueRings } from '../store/rings.ts'
import { listDue } from '../store/todos.ts'
import { retryDue } from '../work-item.ts'
import { sendUnsent } from './send-unsent.ts'

/**
 * Makes visible what time has done: lapsed leases go back to pending or become dead letters, due
 * retries become pending, due rings are made, what was left unsent is sent. Any replica may do it, the compare-and-set decides.
 * Nobody waits for it to claim: a lapsed item is claimable through its message at once.
 */

const CONCURRENCY = 16

const sweepItem = async (tasks: Tasks, owner_id: number, id: string): Promise<void> => {
  const entry = await tasks.records.loadFresh(owner_id, id)
  if (entry === undefined) return
  if (await closeLapsed(tasks, entry.value, entry.revision)) return
  const next = retryDue(entry.value, tasks.clock.now())
  if (next === undefined) return
  // Its message comes up by itself, by the delay that the failure set.
  if ((await tasks.records.replace(next, entry.revision)) !== undefined) ring(tasks, next)
}

export const sweepOnce = async (tasks: Tasks): Promise<void> => {
  const due = await listDue(tasks.db, tasks.clock.now(), SWEEP_BATCH)
  const queue = [...due]
  await Promise.all(
    Array.from({ length: Math.min(CONCURRENCY, queue.length) }, async () => {
      for (let item = queue.pop(); item !== undefined; item = queue.pop()) {
        await sweepItem(tasks, item.owner_id, item.id)
      }
    }),
  )
  for (const record of await takeDueRings(tasks.db, tasks.clock.now(), RINGS_PER_SWEEP)) {
    ring(tasks, record)
  }
  await sendUnsent(tasks)
}

export const sweep = (tasks: Tasks): Part =>
  interval({
    name: 'sweep',
    every_ms: SWEEP_INTERVAL_MS,
    log: tasks.log,
    run: () => sweepOnce(tasks),
  })
