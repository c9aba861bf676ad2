import {
  goalChanged,
  type Notice,
  noticePosted,
  pauseGoal,
  resumeGoal,
  usageRecorded,
} from '@guildhall/contracts'
import { transaction } from '@guildhall/db'
import t from 'tap'
import { holdBudgetIn, releaseHoldIn, type Settled, settleUsageIn } from '../src/budget.ts'
import { type GoalBundle, node, refusedAs, setupGoals } from './goal-setup.ts'
import { stopServer } from './setup.ts'

t.teardown(stopServer)

/** A claim and a report by what they do to budgets. */
const work = (s: GoalBundle) => {
  const now = () => new Date(s.clock.now())
  const key = (task_id: number) => ({ owner_user_id: s.owner_id, task_id })
  return {
    hold: (task_id: number, claim_key_hash = 'a', claim_seq = 1): Promise<void> =>
      transaction(s.db, (trx) =>
        holdBudgetIn(trx, { ...key(task_id), claim_seq, claim_key_hash }, now()),
      ),
    release: (task_id: number, claim_key_hash?: string, claim_seq = 1): Promise<void> =>
      transaction(s.db, (trx) =>
        releaseHoldIn(trx, { ...key(task_id), claim_seq, claim_key_hash }),
      ),
    report: (
      task_id: number,
      {
        tokens = 0,
        cents = 0,
        revision = 1,
      }: { tokens?: number; cents?: number; revision?: number },
    ): Promise<Settled> =>
      transaction(s.db, (trx) =>
        settleUsageIn(
          trx,
          {
            ...key(task_id),
            revision,
            claim_seq: 1,
            agent_id: s.coordinator.principal.agent_id,
            tokens,
            dollars_cents: cents,
          },
          now(),
        ),
      ),
  }
}

const leavesOf = async (s: GoalBundle, goal_id: number, titles: readonly string[]) => {
  const tree = await s.tree(goal_id, node('root', { children: titles.map((title) => node(title)) }))
  return tree.filter(({ is_leaf }) => is_leaf).map(({ task_id }) => task_id)
}

const noticesOf = async (s: GoalBundle, kind: string): Promise<Notice[]> => {
  const all = (await s.eventsOf(noticePosted('tasks').subject)) as Notice[] // by that schema
  return all.filter(({ metadata }) => metadata.kind === kind)
}

t.test('scenario 26: costs add up below a root and by billing code', async (t) => {
  const s = await setupGoals(t)
  const { goal_id } = await s.goal()
  const [root, a, a1, b] = await s.tree(
    goal_id,
    node('root', {
      budget_tokens: 1_000,
      children: [
        node('node a', { children: [node('node a1', { billing_code: 'docs/scan' })] }),
        node('node b'),
      ],
    }),
  )
  const { report } = work(s)
  await report(a1?.task_id ?? 0, { tokens: 100, cents: 50 })
  await report(b?.task_id ?? 0, { tokens: 200, cents: 75 })
  const { cost_breakdown, goal, tasks_tree } = await s.show(goal_id)
  t.strictSame(cost_breakdown, {
    total: { tokens: 300, dollars_cents: 125, task_count: 4 },
    by_billing_code: [
      { billing_code: '', tokens: 200, dollars_cents: 75 },
      { billing_code: 'docs/scan', tokens: 100, dollars_cents: 50 },
    ],
    percent_of_budget: null,
  })
  t.match(goal, { spent_tokens: 300, spent_dollars_cents: 125 })
  t.strictSame(
    tasks_tree.map(({ spent_tokens }) => spent_tokens),
    [0, 0, 100, 200],
  )
  await s.tasks.settle()
  t.match(await s.taskEntry(root?.task_id ?? 0), {
    remaining_tokens: 700,
    remaining_dollars_cents: null,
  })
  t.match(await s.taskEntry(a?.task_id ?? 0), { remaining_tokens: null })
  t.match(await s.eventsOf(usageRecorded.subject), [
    { task_id: a1?.task_id, tokens: 100, cost_minor: 50, billing_code: 'docs/scan' },
    { task_id: b?.task_id, tokens: 200, cost_minor: 75, billing_code: null },
  ])
})

t.test('scenario 27: one alert at 80 %, then the goal is paused by what ends it', async (t) => {
  const s = await setupGoals(t)
  const { goal_id } = await s.goal({ budget_dollars_cents: 100 })
  const [one = 0, two = 0, three = 0, four = 0] = await leavesOf(s, goal_id, [
    'task one',
    'task two',
    'task three',
    'task four',
  ])
  const { hold, report } = work(s)
  t.match(await report(one, { cents: 40 }), { recorded: true, goal_status: 'active' })
  t.strictSame(await noticesOf(s, 'budget_alert'), [])
  t.match(await report(two, { cents: 45 }), { goal_status: 'active' })
  t.match(await noticesOf(s, 'budget_alert'), [{ to: { kind: 'goal', goal_id } }])
  await hold(four)
  t.match(await report(three, { cents: 45 }), { recorded: true, goal_status: 'paused' })
  // What is handed in on a paused goal is recorded all the same.
  t.match(await report(four, { cents: 5 }), { recorded: true, goal_status: 'paused' })
  t.match((await s.show(goal_id)).goal, {
    status: 'paused',
    pause_reason: 'the budget is used up',
    spent_dollars_cents: 135,
    held_dollars_cents: 0,
  })
  t.match(await noticesOf(s, 'budget_pause'), [{ to: { kind: 'goal' } }, { to: { kind: 'owner' } }])
  t.equal((await noticesOf(s, 'budget_alert')).length, 1)
  const refused = await refusedAs(t, hold(one, 'b', 2), 'ErrGoalBudgetExceeded')
  t.equal(refused.code, 'budget_exceeded')
  const changes = (await s.eventsOf(goalChanged.subject)) as { change: string }[] // by that schema
  t.strictSame(
    changes.map(({ change }) => change),
    ['created', 'activated', 'paused'],
  )
})

t.test('scenario 27: reports that cross the lines together cross them once', async (t) => {
  const s = await setupGoals(t)
  const { goal_id } = await s.goal({ budget_dollars_cents: 100, budget_tokens: 100 })
  const titles = Array.from({ length: 8 }, (_, i) => `task ${i}`)
  const leaves = await leavesOf(s, goal_id, titles)
  const { report } = work(s)
  await Promise.all(leaves.map((task_id) => report(task_id, { cents: 45, tokens: 45 })))
  t.match((await s.show(goal_id)).goal, { status: 'paused', spent_tokens: 360 })
  t.equal((await noticesOf(s, 'budget_alert')).length, 1)
  t.equal((await noticesOf(s, 'budget_pause')).length, 2)
})

t.test('usage counts once per revision, however often it is reported', async (t) => {
  const s = await setupGoals(t)
  const { goal_id } = await s.goal({ budget_tokens: 1_000 })
  const [task = 0] = await leavesOf(s, goal_id, ['task one'])
  const { report } = work(s)
  const all = await Promise.all(Array.from({ length: 6 }, () => report(task, { tokens: 10 })))
  t.equal(all.filter(({ recorded }) => recorded).length, 1)
  t.match(await report(task, { tokens: 10, revision: 2 }), { recorded: true })
  t.match((await s.show(goal_id)).goal, { spent_tokens: 20 })
  t.equal((await s.eventsOf(usageRecorded.subject)).length, 2)
})

t.test('scenario 28: a paused goal resumes with a budget above its spend', async (t) => {
  const s = await setupGoals(t)
  const { goal_id } = await s.goal({ budget_dollars_cents: 100 })
  const [one = 0, two = 0] = await leavesOf(s, goal_id, ['task one', 'task two'])
  const { hold, report } = work(s)
  await report(one, { cents: 105 })
  const resume = (input = {}) => s.human.call(resumeGoal, { goal_id, ...input })
  const refused = await refusedAs(t, resume(), 'ErrGoalBudgetExceeded')
  t.match(refused.details, { needed: { new_budget_dollars_cents: 106 } })
  await refusedAs(t, resume({ new_budget_dollars_cents: 105 }), 'ErrGoalBudgetExceeded')
  await refusedAs(t, resume({ new_budget_dollars_cents: 50 }), 'ErrGoalBudgetExceeded')
  await refusedAs(
    t,
    s.stranger.call(resumeGoal, { goal_id, new_budget_dollars_cents: 200 }),
    'ErrGoalNotFound',
  )
  t.match(await s.settled(await s.decide(goal_id, node('more'))), { error: 'ErrGoalNotActive' })
  t.equal((await s.show(goal_id)).goal.status, 'paused')

  t.match(await resume({ new_budget_dollars_cents: 200 }), { status: 'active' })
  t.match(await resume({ new_budget_dollars_cents: 200 }), { status: 'active' })
  t.match((await s.show(goal_id)).goal, {
    status: 'active',
    budget_dollars_cents: 200,
    alert_80pct_posted: false,
    pause_reason: null,
  })
  t.match(await s.goalEntry(goal_id), { status: 'active', remaining_dollars_cents: 95 })
  await hold(two)
  // The new budget has an 80 % line of its own.
  await report(two, { cents: 60 })
  t.equal((await noticesOf(s, 'budget_alert')).length, 2)
  await refusedAs(t, resume({ new_budget_dollars_cents: 10 }), 'ErrGoalBudgetExceeded')
})

t.test('the alert is not repeated when the new budget is nearly used as well', async (t) => {
  const s = await setupGoals(t)
  const { goal_id } = await s.goal({ budget_tokens: 100 })
  const [one = 0, two = 0] = await leavesOf(s, goal_id, ['task one', 'task two'])
  const { report } = work(s)
  await report(one, { tokens: 90 })
  await s.human.call(pauseGoal, { goal_id })
  await s.human.call(resumeGoal, { goal_id, new_budget_tokens: 110 })
  t.match((await s.show(goal_id)).goal, { alert_80pct_posted: true })
  await report(two, { tokens: 1 })
  t.equal((await noticesOf(s, 'budget_alert')).length, 1)
})

t.test('what claims hold is not held twice, and comes back', async (t) => {
  const s = await setupGoals(t)
  const { goal_id } = await s.goal({ budget_tokens: 100 })
  const tree = await s.tree(
    goal_id,
    node('root', {
      children: [node('task one', { budget_tokens: 60 }), node('task two', { budget_tokens: 40 })],
    }),
  )
  const [, one = 0, two = 0] = tree.map(({ task_id }) => task_id)
  const { hold, release, report } = work(s)
  // Those who race for one task hold together what one of them will have.
  await Promise.all(['a', 'b', 'c', 'd'].map((claimant) => hold(one, claimant)))
  t.match((await s.show(goal_id)).goal, { held_tokens: 60 })
  await s.tasks.settle()
  t.match(await s.goalEntry(goal_id), { remaining_tokens: 40 })
  t.match(await s.taskEntry(one), { remaining_tokens: 0 })
  await Promise.all(['b', 'c', 'd'].map((claimant) => release(one, claimant)))
  t.match((await s.show(goal_id)).goal, { held_tokens: 60 })
  await hold(two)
  t.match((await s.show(goal_id)).goal, { held_tokens: 100 })
  // A lapse gives the hold back; the next claim makes its own.
  await release(one)
  await release(one)
  t.match((await s.show(goal_id)).goal, { held_tokens: 40 })
  await hold(one, 'e', 2)
  t.match((await s.show(goal_id)).goal, { held_tokens: 100 })
  await report(two, { tokens: 10 })
  t.match((await s.show(goal_id)).goal, { held_tokens: 60, spent_tokens: 10 })
})

t.test('two claims at once do not both get the last of a budget', async (t) => {
  const s = await setupGoals(t)
  const { goal_id } = await s.goal({ budget_tokens: 100 })
  const [, one = 0] = (
    await s.tree(goal_id, node('root', { children: [node('task one', { budget_tokens: 60 })] }))
  ).map(({ task_id }) => task_id)
  const [, two = 0] = (
    await s.tree(goal_id, node('root', { children: [node('task two', { budget_tokens: 60 })] }))
  ).map(({ task_id }) => task_id)
  const { hold } = work(s)
  const held = await Promise.allSettled([hold(one), hold(two)])
  t.strictSame(held.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  t.match((await s.show(goal_id)).goal, { held_tokens: 60 })
})

t.test('a subtree whose budget is used up takes no more claims, the rest does', async (t) => {
  const s = await setupGoals(t)
  const { goal_id } = await s.goal()
  const tree = await s.tree(
    goal_id,
    node('root', {
      children: [
        node('poor', { budget_tokens: 100, children: [node('task one'), node('task two')] }),
        node('rich'),
      ],
    }),
  )
  const [, poor = 0, one = 0, two = 0, rich = 0] = tree.map(({ task_id }) => task_id)
  const { hold, report } = work(s)
  t.match(await report(one, { tokens: 130 }), { goal_status: 'active' })
  const refused = await refusedAs(t, hold(two), 'ErrGoalBudgetExceeded')
  t.match(refused.details, { task_id: poor, spent: 130 })
  await hold(rich)
  t.match(await noticesOf(s, 'task_budget_used_up'), [{ metadata: { task_id: poor } }])
})

t.test('a budget of zero is a cap, no budget is none', async (t) => {
  const s = await setupGoals(t)
  const { hold } = work(s)
  const zero = await s.goal({ budget_tokens: 0 })
  const [capped = 0] = await leavesOf(s, zero.goal_id, ['task one'])
  await refusedAs(t, hold(capped), 'ErrGoalBudgetExceeded')
  t.match((await s.show(zero.goal_id)).goal, { held_tokens: 0 })
  const free = await s.goal()
  const [open = 0] = await leavesOf(s, free.goal_id, ['task one'])
  await hold(open)
  t.match((await s.show(free.goal_id)).cost_breakdown, { percent_of_budget: null })
})

t.test('nothing is held on a goal that is not active', async (t) => {
  const s = await setupGoals(t)
  const { goal_id } = await s.goal({ budget_tokens: 100 })
  const [task = 0] = await leavesOf(s, goal_id, ['task one'])
  await s.human.call(pauseGoal, { goal_id })
  const { hold } = work(s)
  await refusedAs(t, hold(task), 'ErrGoalNotActive')
  await refusedAs(t, hold(task + 1_000), 'ErrTaskNotFound')
})

t.test('scenario 29: a child may not be given more than its parent has', async (t) => {
  const s = await setupGoals(t)
  const { goal_id } = await s.goal()
  const tree = node('parent', {
    budget_tokens: 1_000,
    children: [node('child', { budget_tokens: 1_200 })],
  })
  t.match(await s.settled(await s.decide(goal_id, tree)), {
    outcome: 'refused',
    error: 'ErrBudgetInsufficient',
    message: 'tree.children: 1200 tokens are asked for, and there are 1000',
  })
})
