import { RINGS_PER_SWEEP, SWEEP_BATCH, SWEEP_INTERVAL_MS, taskItemId } from '@guildhall/contracts'
import { interval, type Part } from '@guildhall/runtime'
import type { Tasks } from '../context.ts'
import { ring } from '../doorbell.ts'
import { closeLapsed } from '../lapse.ts'
import { takeDueRings } from '../store/rings.ts'
import { listDueVerifiers, listLapsedTasks } from '../store/task-items.ts'
import { listDue } from '../store/todos.ts'
import { askVerifier } from '../verification.ts'
import { retryDue } from '../work-item.ts'
import { sendUnsent } from './send-unsent.ts'

/**
 * Makes visible what time has done: lapsed leases go back to pending or become dead letters, due
 * retries become pending, due rings are made, what was left unsent is sent, verifiers that are due
 * are asked. Any replica may do it, the compare-and-set decides. Nobody waits for it to claim: a
 * lapsed item is claimable at once.
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

const dueItems = async (tasks: Tasks): Promise<{ owner_id: number; id: string }[]> => {
  const now = tasks.clock.now()
  const todos = await listDue(tasks.db, now, SWEEP_BATCH)
  const held = await listLapsedTasks(tasks.db, now, SWEEP_BATCH)
  return [
    ...todos,
    ...held.map((task) => ({ owner_id: task.owner_user_id, id: taskItemId(task.task_id) })),
  ]
}

const forEach = async <T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> => {
  const queue = [...items]
  await Promise.all(
    Array.from({ length: Math.min(CONCURRENCY, queue.length) }, async () => {
      for (let item = queue.pop(); item !== undefined; item = queue.pop()) await work(item)
    }),
  )
}

/** One that cannot be asked holds up no other, and is tried again in a second. */
const sweepVerifiers = async (tasks: Tasks): Promise<void> => {
  const due = await listDueVerifiers(tasks.db, tasks.clock.now(), SWEEP_BATCH)
  await forEach(due, (key) =>
    askVerifier(tasks, key).catch((err: unknown) =>
      tasks.log.error({ err, task_id: key.task_id }, 'a verifier was not asked'),
    ),
  )
}

export const sweepOnce = async (tasks: Tasks): Promise<void> => {
  await forEach(await dueItems(tasks), ({ owner_id, id }) => sweepItem(tasks, owner_id, id))
  for (const record of await takeDueRings(tasks.db, tasks.clock.now(), RINGS_PER_SWEEP)) {
    ring(tasks, record)
  }
  await sendUnsent(tasks)
  await sweepVerifiers(tasks)
}

export const sweep = (tasks: Tasks): Part =>
  interval({
    name: 'sweep',
    every_ms: SWEEP_INTERVAL_MS,
    log: tasks.log,
    run: () => sweepOnce(tasks),
  })
