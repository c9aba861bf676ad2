import {
  cancelGoal,
  completeGoal,
  heartbeat,
  holderName,
  type TaskNode,
  TaskStatus,
  taskItemId,
  WorkRecord,
} from '@guildhall/contracts'
import { transaction } from '@guildhall/db'
import t from 'tap'
import { settleParentsIn } from '../src/parents.ts'
import { lockGoalIn } from '../src/store/goals.ts'
import { findTask, goalOfTask, moveTaskIn } from '../src/store/tasks.ts'
import { mayMoveTask, parentOutcome, taskStatesBefore } from '../src/task-state.ts'
import { type GoalBundle, node, refusedAs, setupGoals } from './goal-setup.ts'
import { rejectsWith, stopServer } from './setup.ts'

t.teardown(stopServer)

const sample = (): TaskNode =>
  node('root', {
    acceptance_criteria: 'all is done',
    children: [node('child-1', { children: [node('grandchild')] }), node('child-2')],
  })

/** What the claim record of a task would be moved to, with the row following it. */
const endTask = async (
  s: GoalBundle,
  task_id: number,
  outcome: 'done' | 'failed',
): Promise<void> => {
  const key = { owner_user_id: s.owner_id, task_id }
  const now = new Date(s.clock.now())
  await transaction(s.db, async (trx) => {
    const goal_key = await goalOfTask(trx, key)
    if (goal_key !== undefined) await lockGoalIn(trx, goal_key)
    const task = await findTask(trx, key)
    if (task === undefined) throw new Error('no such task')
    await moveTaskIn(trx, task, 'claimed', { claimed_at: now }, now)
    await moveTaskIn(trx, task, 'awaiting_verification', {}, now)
    await moveTaskIn(trx, task, outcome, { completed_at: now }, now)
    await settleParentsIn(trx, key, now)
  })
  await s.tasks.settle()
}

const statuses = async (s: GoalBundle, goal_id: number): Promise<Record<string, string>> =>
  Object.fromEntries((await s.show(goal_id)).tasks_tree.map(({ title, status }) => [title, status]))

t.test('scenario 25: a task walks from approved to done, and never back', async (t) => {
  const walk: TaskStatus[] = ['approved', 'claimed', 'in_progress', 'awaiting_verification', 'done']
  for (const [i, to] of walk.entries()) {
    const from = walk[i - 1]
    if (from !== undefined) t.ok(mayMoveTask(from, to), `${from} to ${to}`)
  }
  for (const to of TaskStatus.options) {
    for (const from of ['done', 'failed', 'cancelled'] as const) t.notOk(mayMoveTask(from, to))
  }
  t.notOk(mayMoveTask('approved', 'done'), 'a leaf is not done without work')
  t.ok(mayMoveTask('approved', 'done', false), 'a parent is')
  t.notOk(mayMoveTask('approved', 'claimed', false), 'and is not claimed')
  t.strictSame(taskStatesBefore('approved'), ['proposed', 'claimed', 'in_progress'])
})

t.test('a parent ends as its children make it', async (t) => {
  t.equal(parentOutcome([]), undefined)
  t.equal(parentOutcome(['done', 'approved']), undefined)
  t.equal(parentOutcome(['failed', 'claimed']), undefined)
  t.equal(parentOutcome(['done', 'done']), 'done')
  t.equal(parentOutcome(['done', 'failed', 'cancelled']), 'failed')
  t.equal(parentOutcome(['done', 'cancelled']), 'cancelled')
})

t.test('a parent is done when its children are, up to the root', async (t) => {
  const s = await setupGoals(t)
  const { goal_id } = await s.goal()
  const [root, , grandchild, second] = await s.tree(goal_id, sample())
  await endTask(s, grandchild?.task_id ?? 0, 'done')
  t.match(await statuses(s, goal_id), { root: 'approved', 'child-1': 'done', grandchild: 'done' })
  await endTask(s, second?.task_id ?? 0, 'done')
  t.match(await statuses(s, goal_id), { root: 'done', 'child-2': 'done' })
  t.match(await s.taskEntry(root?.task_id ?? 0), { status: 'done' })
  t.match((await s.show(goal_id)).recent_events, [
    { kind: 'task_ended', body: /Task \d+ "root" is done/ },
    { kind: 'task_ended', body: /Task \d+ "child-1" is done/ },
  ])
})

t.test('a parent fails once all have ended and one has failed', async (t) => {
  const s = await setupGoals(t)
  const { goal_id } = await s.goal()
  const [, , grandchild, second] = await s.tree(goal_id, sample())
  await endTask(s, grandchild?.task_id ?? 0, 'failed')
  t.match(await statuses(s, goal_id), { root: 'approved', 'child-1': 'failed' })
  await endTask(s, second?.task_id ?? 0, 'done')
  t.match(await statuses(s, goal_id), { root: 'failed', 'child-2': 'done' })
  const [root, child] = (await s.show(goal_id)).tasks_tree
  t.equal(root?.failure_reason, `failed: task ${child?.task_id}`)
})

t.test('children that end at the same moment end their parent once', async (t) => {
  const s = await setupGoals(t)
  const { goal_id } = await s.goal()
  const children = Array.from({ length: 8 }, (_, i) => node(`child ${i}`))
  const [, ...leaves] = await s.tree(goal_id, node('root', { children }))
  await Promise.all(leaves.map(({ task_id }) => endTask(s, task_id, 'done')))
  const { tasks_tree, recent_events } = await s.show(goal_id)
  t.equal(tasks_tree[0]?.status, 'done')
  t.equal(recent_events.filter(({ kind }) => kind === 'task_ended').length, 1)
})

t.test('cancelling a goal ends its tasks and takes them from whoever holds them', async (t) => {
  const s = await setupGoals(t)
  const { goal_id, slug } = await s.goal()
  const [, , grandchild, second] = await s.tree(goal_id, sample())
  await endTask(s, second?.task_id ?? 0, 'done')
  const worker = s.worker({ queues: [`goal-${slug}`] })
  const id = taskItemId(grandchild?.task_id ?? 0)
  const entry = await s.tasks.records.loadFresh(s.owner_id, id)
  if (entry === undefined) throw new Error('no claim record')
  await s.tasks.records.replace(
    {
      ...entry.value,
      state: 'claimed',
      attempt: 1,
      attempts_total: 1,
      holder: holderName(worker.principal),
      lease_until: s.clock.now() + 60_000,
    },
    entry.revision,
  )
  await worker.call(heartbeat, { id })

  await rejectsWith(t, s.coordinator.call(cancelGoal, { goal_id }), 'forbidden')
  t.match(await s.human.call(cancelGoal, { goal_id, reason: 'changed my mind' }), {
    status: 'cancelled',
  })
  t.match(await s.human.call(cancelGoal, { goal_id }), { status: 'cancelled' })
  t.match(await statuses(s, goal_id), {
    root: 'cancelled',
    'child-1': 'cancelled',
    grandchild: 'cancelled',
    'child-2': 'done',
  })
  await rejectsWith(t, worker.call(heartbeat, { id }), 'conflict')
  const record = (await s.tasks.records.loadFresh(s.owner_id, id))?.value
  t.match(record, { state: 'failed', dead_letter: true, task: { cancelled: true } })
  t.equal(record?.holder, undefined)
  t.equal(WorkRecord.safeParse(record).success, true)
  t.equal((await s.taskEntry(grandchild?.task_id ?? 0))?.status, 'cancelled')
  await refusedAs(t, s.human.call(completeGoal, { goal_id }), 'ErrIllegalTransition')
})
