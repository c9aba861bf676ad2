import {
  completeGoal,
  GoalStatus,
  getGoal,
  goalChanged,
  listGoals,
  pauseGoal,
  resumeGoal,
} from '@guildhall/contracts'
import t from 'tap'
import { mayMoveGoal } from '../src/goal-state.ts'
import { slugCandidates, slugOf } from '../src/slug.ts'
import { refusedAs, setupGoals } from './goal-setup.ts'
import { rejectsWith, stopServer } from './setup.ts'

t.teardown(stopServer)

t.test('a goal has only the moves of the table', async (t) => {
  const moves = GoalStatus.options.flatMap((from) =>
    GoalStatus.options.filter((to) => mayMoveGoal(from, to)).map((to) => `${from}>${to}`),
  )
  t.strictSame(moves, [
    'draft>active',
    'draft>stuck',
    'draft>completed',
    'draft>cancelled',
    'active>paused',
    'active>stuck',
    'active>completed',
    'active>cancelled',
    'paused>active',
    'paused>stuck',
    'paused>completed',
    'paused>cancelled',
    'stuck>active',
    'stuck>completed',
    'stuck>cancelled',
  ])
})

t.test('slugs keep letters and digits, and stay short with their suffix', async (t) => {
  t.equal(slugOf('Keep docs.mcpproxy.app accurate'), 'keep-docs-mcpproxy-app-accurate')
  t.equal(slugOf(' _A--b/ C! '), 'a-b-c')
  t.equal(slugOf('日本語'), 'goal')
  t.equal(slugOf(`${'x'.repeat(58)} yz`), 'x'.repeat(58))
  const candidates = slugCandidates('w'.repeat(200))
  t.equal(candidates.length, 99)
  t.ok(candidates.every((slug) => slug.length === 59))
  t.match(candidates.slice(0, 2), ['w'.repeat(59), `${'w'.repeat(57)}-2`])
  t.match(candidates.at(-1), /w-99$/)
})

t.test('a new goal is a draft with a coordinator and a channel, and is told', async (t) => {
  const s = await setupGoals(t)
  const goal = await s.goal({ budget_tokens: 1_000 })
  t.match(goal, {
    slug: 'keep-docs-mcpproxy-app-accurate',
    status: 'draft',
    channel_id: goal.goal_id * 2,
    coordinator_agent_id: s.coordinator.principal.agent_id,
  })
  t.match(await s.goalEntry(goal.goal_id), {
    slug: goal.slug,
    status: 'draft',
    budget_tokens: 1_000,
    remaining_tokens: 1_000,
    budget_dollars_cents: null,
    remaining_dollars_cents: null,
  })
  t.match(await s.show(goal.goal_id), {
    goal: { status: 'draft', spent_tokens: 0, held_tokens: 0, max_spawn_depth: 3 },
    tasks_tree: [],
    tasks_truncated: false,
    spawned_agents: [{ id: goal.coordinator_agent_id }],
    cost_breakdown: { total: { tokens: 0, task_count: 0 }, percent_of_budget: 0 },
    recent_events: [{ kind: 'goal_created', from: `human:${s.owner_id}` }],
  })
  t.match(await s.eventsOf(goalChanged.subject), [{ change: 'created', goal_id: goal.goal_id }])
  t.match(await s.goal(), { slug: 'keep-docs-mcpproxy-app-accurate-2' })
})

t.test('twenty goals of one title made at once have twenty slugs', async (t) => {
  const s = await setupGoals(t)
  const goals = await Promise.all(Array.from({ length: 20 }, () => s.goal({ title: 'Same name' })))
  const wanted = Array.from({ length: 20 }, (_, i) => `same-name${i === 0 ? '' : `-${i + 1}`}`)
  t.strictSame(goals.map(({ slug }) => slug).sort(), [...wanted].sort())
})

t.test('a goal is made once per key, also by calls at the same time', async (t) => {
  const s = await setupGoals(t)
  const input = { title: 'Only once', idempotency_key: 'k1' }
  const goals = await Promise.all(Array.from({ length: 8 }, () => s.goal(input)))
  t.equal(new Set(goals.map(({ goal_id }) => goal_id)).size, 1)
  t.equal((await s.human.call(listGoals, {})).goals.length, 1)
  await rejectsWith(t, s.goal({ ...input, title: 'Another' }), 'idempotency_conflict')
})

t.test('the hundredth goal of a title is refused', async (t) => {
  const s = await setupGoals(t)
  const { goal_id } = await s.goal({ title: 'Full' })
  await s.db.raw(
    `insert into goals (owner_user_id, slug, title, description, status, coordinator_agent_id,
       max_spawn_depth, create_key_hash, create_input_hash, created_at, updated_at)
     select owner_user_id, 'full-' || n, title, description, status, coordinator_agent_id,
       max_spawn_depth, 'key-' || n, '', created_at, updated_at
     from goals, generate_series(2, 99) n where goal_id = ?`,
    [goal_id],
  )
  await rejectsWith(t, s.goal({ title: 'Full' }), 'conflict')
})

t.test('the coordinator is found by template, and "self" is the calling agent', async (t) => {
  const s = await setupGoals(t)
  const writer = await s.agent({ coordinator_template: 'writer' })
  await s.agent({ coordinator_template: 'retired', status: 'inactive' })
  t.match(await s.goal({ coordinator_config: 'writer' }), {
    coordinator_agent_id: writer.principal.agent_id,
  })
  const other = await s.agent()
  t.match(await s.goal({ coordinator_config: 'self' }, other), {
    coordinator_agent_id: other.principal.agent_id,
  })
  await refusedAs(t, s.goal({ coordinator_config: 'self' }), 'ErrUnknownTemplate')
  await refusedAs(t, s.goal({ coordinator_config: 'retired' }), 'ErrUnknownTemplate')
  await refusedAs(t, s.goal({ coordinator_config: 'none' }), 'ErrUnknownTemplate')
})

t.test('input outside the limits makes nothing', async (t) => {
  const s = await setupGoals(t)
  const bad = [
    { title: 'ab' },
    { title: '\u0000\u0000\u0000' },
    { description: 'too short' },
    { max_spawn_depth: 0 },
    { max_spawn_depth: 11 },
    { budget_tokens: -1 },
  ]
  for (const input of bad) await rejectsWith(t, s.goal(input), 'invalid_argument')
  t.strictSame((await s.human.call(listGoals, {})).goals, [])
})

t.test('another owner knows nothing of a goal', async (t) => {
  const s = await setupGoals(t)
  const { goal_id } = await s.goal()
  const unknown = await refusedAs(t, s.human.call(getGoal, { goal_id: 999_999 }), 'ErrGoalNotFound')
  for (const op of [getGoal, pauseGoal, completeGoal, resumeGoal]) {
    const call = s.stranger.call(op, { goal_id })
    t.equal((await refusedAs(t, call, 'ErrGoalNotFound')).message, unknown.message)
  }
  t.strictSame((await s.stranger.call(listGoals, {})).goals, [])
})

t.test('goals are listed newest first, in pages, by status', async (t) => {
  const s = await setupGoals(t)
  const made: number[] = []
  for (let i = 0; i < 5; i += 1) made.push((await s.goal({ title: `Goal ${i}` })).goal_id)
  await s.human.call(completeGoal, { goal_id: made[0] })
  const first = await s.human.call(listGoals, { limit: 3 })
  const second = await s.human.call(listGoals, { limit: 3, cursor: first.next_cursor })
  t.strictSame(
    [...first.goals, ...second.goals].map(({ id }) => id),
    [...made].reverse(),
  )
  t.equal(second.next_cursor, undefined)
  t.match((await s.human.call(listGoals, { status: 'completed' })).goals, [{ id: made[0] }])
  await rejectsWith(t, s.human.call(listGoals, { cursor: 'nonsense' }), 'invalid_argument')
})

t.test('the coordinator steers its goal, another agent of the owner does not', async (t) => {
  const s = await setupGoals(t)
  const { goal_id } = await s.goal()
  const other = await s.agent()
  await refusedAs(t, other.call(completeGoal, { goal_id, status: 'stuck' }), 'ErrNotPermitted')
  await rejectsWith(t, s.coordinator.call(resumeGoal, { goal_id }), 'forbidden')
  const stuck = { goal_id, status: 'stuck', summary: 'no data' }
  t.match(await s.coordinator.call(completeGoal, stuck), { status: 'stuck' })
  t.match(await s.coordinator.call(completeGoal, stuck), { status: 'stuck' })
  t.match(await s.human.call(completeGoal, { goal_id }), { status: 'completed' })
  t.match((await s.show(goal_id)).goal, { status: 'completed', completed_at: /T/ })
  await refusedAs(t, s.human.call(resumeGoal, { goal_id }), 'ErrIllegalTransition')
  const changes = (await s.eventsOf(goalChanged.subject)) as { change: string }[] // by that schema
  t.strictSame(
    changes.map(({ change }) => change),
    ['created', 'stuck', 'completed'],
  )
})

t.test('a draft is neither paused nor resumed', async (t) => {
  const s = await setupGoals(t)
  const { goal_id } = await s.goal()
  await refusedAs(t, s.human.call(pauseGoal, { goal_id }), 'ErrIllegalTransition')
  await refusedAs(t, s.human.call(resumeGoal, { goal_id }), 'ErrIllegalTransition')
  t.equal((await s.goalEntry(goal_id))?.status, 'draft')
})
