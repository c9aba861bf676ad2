import {
  cancelGoal,
  goalChanged,
  listTasks,
  pauseGoal,
  type TaskNode,
  type TreeSettled,
  taskItemId,
  treeSettled,
} from '@guildhall/contracts'
import { waitFor } from '@guildhall/testing'
import t from 'tap'
import { materialise } from '../src/materialise.ts'
import { planTree } from '../src/tree-plan.ts'
import { node, setupGoals } from './goal-setup.ts'
import { stopServer } from './setup.ts'

t.teardown(stopServer)

const sample = (): TaskNode =>
  node('root', {
    acceptance_criteria: 'all is done',
    children: [node('child-1', { children: [node('grandchild')] }), node('child-2')],
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

t.test('what was committed before a process died is brought by the next relay', async (t) => {
  const s = await setupGoals(t)
  const { goal_id } = await s.goal()
  // As after the commit: neither the bucket nor the stream has heard of it.
  await materialise(s.tasks, {
    v: 1,
    user_id: s.owner_id,
    approval_id: 1_000_000,
    round: 1,
    kind: 'task_tree',
    decision: 'approved',
    agent_id: null,
    goal_id,
    task_id: null,
    resource_name: null,
    payload: { tree: node('the only one') },
    reason: null,
    decided_by_user_id: s.owner_id,
    at: s.clock.now(),
  })
  t.match(await s.settled(1_000_000), { outcome: 'materialised' })
  const [task] = (await s.show(goal_id)).tasks_tree
  const id = taskItemId(task?.task_id ?? 0)
  t.match((await s.tasks.records.loadFresh(s.owner_id, id))?.value, { state: 'pending' })
  t.match(await s.goalEntry(goal_id), { status: 'active' })
})
