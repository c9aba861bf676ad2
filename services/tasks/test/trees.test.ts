import {
  cancelGoal,
  completeGoal,
  goalChanged,
  heartbeat,
  holderName,
  listTasks,
  pauseGoal,
  type TaskNode,
  TaskStatus,
  type TreeSettled,
  taskItemId,
  treeSettled,
  WorkRecord,
} from '@guildhall/contracts'
import { transaction } from '@guildhall/db'
import { waitFor } from '@guildhall/testing'
import t from 'tap'
import { materialise } from '../src/materialise.ts'
import { settleParentsIn } from '../src/parents.ts'
import { lockGoalIn } from '../src/store/goals.ts'
import { findTask, goalOfTask, moveTaskIn } from '../src/store/tasks.ts'
import { mayMoveTask, parentOutcome, taskStatesBefore } from '../src/task-state.ts'
import { planTree } from '../src/tree-plan.ts'
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

t.test('scenario 5: an approved tree becomes tasks, and the goal active', async (t) => {
  const s = await setupGoals(t)
  const { goal_id, slug } = await s.goal()
  const approval_id = await s.decide(goal_id, sample())
  const settled = await s.settled(approval_id)
  t.match(settled, { outcome: 'materialised', goal_id, round: 1, error: null })

  const { goal, tasks_tree } = await s.show(goal_id)
  t.equal(goal.status, 'active')
  t.strictSame(
    tasks_tree.map(({ task_id }) => task_id),
    settled.task_ids,
  )
  const [root, first] = tasks_tree
  t.match(tasks_tree, [
    { title: 'root', depth: 0, status: 'approved', is_leaf: false, parent_task_id: null },
    { title: 'child-1', depth: 1, is_leaf: false, parent_task_id: root?.task_id },
    { title: 'grandchild', depth: 2, is_leaf: true, parent_task_id: first?.task_id },
    { title: 'child-2', depth: 1, is_leaf: true, verifier_config: { kind: 'auto' } },
  ])
  t.strictSame(root?.ancestry, [])
  t.strictSame(tasks_tree[2]?.ancestry, [
    { id: root?.task_id, title: 'root', acceptance_criteria: 'all is done' },
    { id: first?.task_id, title: 'child-1' },
  ])
  t.match(await s.goalEntry(goal_id), { status: 'active' })
  for (const { task_id, title } of tasks_tree) {
    t.match(await s.taskEntry(task_id), { title, status: 'approved', remaining_tokens: null })
    const record = (await s.tasks.records.loadFresh(s.owner_id, taskItemId(task_id)))?.value
    if (title === 'root' || title === 'child-1') t.equal(record, undefined)
    else {
      const queue = `goal-${slug}`
      t.match(record, { state: 'pending', queue, max_attempts: 50, task: { task_id, goal_id } })
    }
  }
  t.match(await s.eventsOf(goalChanged.subject), [{ change: 'created' }, { change: 'activated' }])
})

t.test('ancestry keeps what the tasks above were called then', async (t) => {
  const s = await setupGoals(t)
  const { goal_id } = await s.goal()
  const [root] = await s.tree(goal_id, node('old name', { children: [node('child')] }))
  await s.db('tasks').where({ task_id: root?.task_id }).update({ title: 'new name' })
  const { tasks_tree } = await s.show(goal_id)
  t.match(tasks_tree, [{ title: 'new name' }, { ancestry: [{ title: 'old name' }] }])
})

t.test('one decision delivered many times at once materialises once', async (t) => {
  const s = await setupGoals(t)
  const { goal_id } = await s.goal()
  const approval_id = await s.decide(goal_id, sample())
  const stored = await s.bus.jsm.streams.getMessage('EVENTS', {
    last_by_subj: 'evt.approvals.approval.decided.v1',
  })
  const made = await Promise.all(
    Array.from({ length: 6 }, () => materialise(s.tasks, stored.json())),
  )
  const settled = await s.settled(approval_id)
  t.ok(made.filter(Boolean).length <= 1)
  t.equal((await s.show(goal_id)).tasks_tree.length, 4)
  const events = (await s.eventsOf(treeSettled.subject)) as TreeSettled[] // by that schema
  t.strictSame(events, [settled])
})

t.test('a second tree adds a root after the first and hides nothing', async (t) => {
  const s = await setupGoals(t)
  const { goal_id } = await s.goal()
  await s.tree(goal_id, sample())
  await s.tree(goal_id, node('more'))
  const { tasks_tree } = await s.show(goal_id)
  t.strictSame(
    tasks_tree.map(({ title }) => title),
    ['root', 'child-1', 'grandchild', 'child-2', 'more'],
  )
})

t.test('a tree that cannot be carried out leaves nothing behind and says why', async (t) => {
  const s = await setupGoals(t)
  const { goal_id } = await s.goal({ budget_tokens: 1_000 })
  const long = 'x'.repeat(15_990)
  const retired = await s.agent({ status: 'inactive' })
  const refused: [string, unknown][] = [
    // Two such criteria above the grandchild are more than an ancestry may hold.
    [
      'ErrAncestryOverflow',
      node('a-1', {
        acceptance_criteria: long,
        children: [
          node('a-2', { acceptance_criteria: long, children: [node('a-3')] }),
          node('a-4'),
        ],
      }),
    ],
    ['ErrBudgetInsufficient', node('too dear', { budget_tokens: 1_200 })],
    [
      'ErrBudgetInsufficient',
      node('parent', {
        budget_tokens: 1_000,
        children: [node('c-1', { budget_tokens: 600 }), node('c-2', { budget_tokens: 600 })],
      }),
    ],
    [
      'ErrNotPermittedVerifier',
      node('peer', {
        verifier_config: { kind: 'peer', agent_id: retired.principal.agent_id },
      }),
    ],
    ['invalid_argument', { title: 'no description' }],
    ['invalid_argument', undefined],
  ]
  for (const [error, tree] of refused) {
    const settled = await s.settled(await s.decide(goal_id, tree))
    t.match(settled, { outcome: 'refused', error, task_ids: [] })
    t.ok((settled.message ?? '').length > 0)
  }
  t.match(await s.show(goal_id), { goal: { status: 'draft' }, tasks_tree: [] })
})

t.test('a tree approved for a goal that is paused or cancelled is refused', async (t) => {
  const s = await setupGoals(t)
  const { goal_id } = await s.goal()
  await s.tree(goal_id, sample())
  await s.human.call(pauseGoal, { goal_id, reason: 'wait' })
  t.match(await s.settled(await s.decide(goal_id, node('more'))), {
    outcome: 'refused',
    error: 'ErrGoalNotActive',
    message: 'the goal is paused: wait',
  })
  t.equal((await s.show(goal_id)).goal.status, 'paused')
  await s.human.call(cancelGoal, { goal_id })
  t.match(await s.settled(await s.decide(goal_id, node('more'))), {
    error: 'ErrGoalNotActive',
  })
  t.match(await s.settled(await s.decide(goal_id + 1_000, node('more'))), {
    error: 'ErrGoalNotFound',
  })
})

t.test('the same approval refused once can be approved again', async (t) => {
  const s = await setupGoals(t)
  const { goal_id } = await s.goal({ budget_tokens: 10 })
  const approval_id = await s.decide(goal_id, node('dear', { budget_tokens: 20 }))
  t.match(await s.settled(approval_id), { outcome: 'refused', round: 1 })
  await s.db('goals').where({ goal_id }).update({ budget_tokens: 30 })
  await s.decide(goal_id, node('dear', { budget_tokens: 20 }), { approval_id, round: 2 })
  await waitFor(async () => (await s.settled(approval_id)).round === 2, { what: 'round 2' })
  t.match(await s.settled(approval_id), { outcome: 'materialised', round: 2 })
})

t.test('rejections and other kinds of approval make no tasks', async (t) => {
  const s = await setupGoals(t)
  const { goal_id } = await s.goal()
  await s.decide(goal_id, sample(), { decision: 'rejected' })
  await s.decide(goal_id, sample(), { kind: 'agent' })
  await s.tree(goal_id, node('the only one'))
  t.equal((await s.show(goal_id)).tasks_tree.length, 1)
})

t.test('a tree of five hundred tasks comes whole, with its claim records', async (t) => {
  const s = await setupGoals(t)
  const { goal_id } = await s.goal()
  const children = Array.from({ length: 499 }, (_, i) => node(`task ${i}`))
  const tree = await s.tree(goal_id, node('root', { children }))
  t.equal(tree.length, 500)
  const last = tree.at(-1)?.task_id ?? 0
  t.match((await s.tasks.records.loadFresh(s.owner_id, taskItemId(last)))?.value, {
    state: 'pending',
  })
})

t.test('get_goal and list_tasks stay within one message however long the texts are', async (t) => {
  const s = await setupGoals(t)
  const { goal_id } = await s.goal()
  const description = 'd'.repeat(16_000)
  const children = Array.from({ length: 45 }, (_, i) => node(`task ${i}`, { description }))
  await s.tree(goal_id, node('root', { children }))
  const { tasks_tree, tasks_truncated } = await s.show(goal_id)
  t.ok(tasks_truncated)
  t.ok(tasks_tree.length > 20 && tasks_tree.length < 46)
  const seen: number[] = []
  let cursor: string | undefined
  do {
    const page = await s.human.call(listTasks, { goal_id, limit: 200, cursor })
    seen.push(...page.tasks.map(({ task_id }) => task_id))
    cursor = page.next_cursor
  } while (cursor !== undefined)
  t.equal(new Set(seen).size, 46)
  t.strictSame(
    seen,
    [...seen].sort((a, b) => b - a),
  )
})

t.test('claimable are approved leaves of active goals, and not for their verifier', async (t) => {
  const s = await setupGoals(t)
  const worker = await s.agent()
  const peer = await s.agent()
  const { goal_id } = await s.goal()
  await s.tree(
    goal_id,
    node('root', {
      children: [
        node('free'),
        node('verified', {
          verifier_config: { kind: 'peer', agent_id: peer.principal.agent_id },
        }),
      ],
    }),
  )
  const titles = async (by: typeof worker, input = {}) =>
    (await by.call(listTasks, { claimable: true, ...input })).tasks.map(({ title }) => title)
  t.strictSame(await titles(worker), ['verified', 'free'])
  t.strictSame(await titles(peer), ['free'])
  t.strictSame(await titles(s.human), ['verified', 'free'])
  t.strictSame(await titles(peer, { claimable: false, mine: true }), ['verified'])
  t.strictSame(await titles(s.human, { claimable: false, mine: true }), [])
  t.strictSame((await s.stranger.call(listTasks, {})).tasks, [])
  await s.human.call(pauseGoal, { goal_id })
  t.strictSame(await titles(worker), [])
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

t.test('the plan of a tree is in order and as deep as the tree', async (t) => {
  const planned = planTree(sample(), [11, 12, 13, 14])
  t.strictSame(
    planned.map(({ task_id, parent_task_id, depth, is_leaf }) => [
      task_id,
      parent_task_id,
      depth,
      is_leaf,
    ]),
    [
      [11, null, 0, false],
      [12, 11, 1, false],
      [13, 12, 2, true],
      [14, 11, 1, true],
    ],
  )
})
