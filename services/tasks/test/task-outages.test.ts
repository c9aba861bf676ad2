import { evidenceEarned, usageRecorded } from '@guildhall/contracts'
import { startPostgres, waitFor } from '@guildhall/testing'
import t, { type Test } from 'tap'
import { taskSubmitted } from '../src/task-item.ts'
import { loadTask } from '../src/verdict.ts'
import { rejectsWith } from './setup.ts'
import {
  eventsOf,
  goalRow,
  newAgent,
  newGoal,
  newTask,
  pass,
  setupTasks,
  taskRow,
} from './task-setup.ts'

/** What becomes of work that is handed in while the database is away. */

const setupOutage = async (t: Test) => {
  const postgres = await startPostgres()
  t.teardown(() => postgres.stop())
  const s = await setupTasks(t, { own_server: true, database_url: postgres.adminUrl })
  const goal_id = await newGoal(s)
  const task_id = await newTask(s, goal_id)
  const agent = await newAgent(s)
  await agent.take(task_id)
  await s.projected()
  return { s, postgres, goal_id, task_id, agent }
}

t.test('a report that the database cannot take is refused for now, and counts once', async (t) => {
  const { s, postgres, goal_id, task_id, agent } = await setupOutage(t)
  const report = { usage: { tokens: 20, cost_minor: 4 } }
  await postgres.kill()
  await rejectsWith(t, agent.submit(task_id, report, 'key'), 'unavailable')
  await rejectsWith(t, agent.submit(task_id, report, 'key'), 'unavailable')
  await postgres.restart()
  const answer = await waitFor(() => agent.submit(task_id, report, 'key'), {
    what: 'the report to be taken',
    timeout_ms: 60_000,
  })
  t.match(answer, { status: 'done' })
  t.match(await goalRow(s, goal_id), { spent_tokens: 20, spent_dollars_cents: 4 })
  t.equal((await eventsOf(s, evidenceEarned)).length, 1)
})

t.test('a report that was taken just before the database went is not lost', async (t) => {
  const { s, postgres, goal_id, task_id, agent } = await setupOutage(t)
  const claim = await loadTask(s.tasks, s.owner_id, task_id)
  if (claim === undefined) throw new Error('the task is claimed')
  await postgres.kill()
  const next = taskSubmitted(
    claim.record,
    {
      summary: 'done',
      artifact: null,
      tokens: 20,
      cost_minor: 4,
      attempt_summary: 'done',
      attempt_summary_truncated: false,
      key_hash: undefined,
    },
    s.clock.now(),
  )
  if (next === undefined) throw new Error('a claimed task can be handed in')
  await s.tasks.records.replace(next, claim.revision)
  await rejectsWith(t, agent.submit(task_id), 'unavailable')
  await postgres.restart()
  await waitFor(async () => (await taskRow(s, task_id))?.status === 'awaiting_verification', {
    what: 'the projection to follow',
    timeout_ms: 60_000,
  })
  await pass(s, 1)
  t.match(await taskRow(s, task_id), { status: 'done', spent_tokens: 20 })
  t.match(await agent.submit(task_id), { status: 'done' })
  t.match(await goalRow(s, goal_id), { spent_tokens: 20, spent_dollars_cents: 4 })
  t.equal((await eventsOf(s, usageRecorded)).length, 1)
  t.equal((await eventsOf(s, evidenceEarned)).length, 1)
})
