import { publish } from '@guildhall/bus'
import {
  cancelGoal,
  evidenceEarned,
  holdsItem,
  subjects,
  taskClaimed,
  taskItemId,
  WorkRecord,
} from '@guildhall/contracts'
import { waitFor } from '@guildhall/testing'
import t from 'tap'
import { rejectsWith, stopServer } from './setup.ts'
import {
  eventsOf,
  goalRecord,
  holdsOf,
  newAgent,
  newGoal,
  newTask,
  ownerOf,
  pass,
  refusal,
  sameAgent,
  setAgent,
  setQuarantine,
  setupTasks,
  taskRecord,
  taskRow,
} from './task-setup.ts'

t.after(stopServer)

t.test('a claim gives the lease, and the task is in progress', async (t) => {
  const s = await setupTasks(t)
  const goal_id = await newGoal(s, { budget_dollars_cents: 1_000 })
  const task_id = await newTask(s, goal_id, {
    budget_dollars_cents: 300,
    acceptance_criteria: 'it reads well',
  })
  const agent = await newAgent(s)
  const claim = await agent.take(task_id, { lease_ttl_seconds: 60 })
  t.match(claim, {
    task_id,
    status: 'claimed',
    item_id: `tk_${task_id}`,
    goal_id,
    acceptance_criteria: 'it reads well',
    budget_dollars_cents: 300,
    ancestry: [],
  })
  t.ok(Date.parse(claim.lease_expires_at) <= s.clock.now() + 60_000)
  t.match(await taskRow(s, task_id), {
    status: 'in_progress',
    assignee_agent_id: agent.agent_id,
    claimed_at: String,
    started_at: String,
  })
  t.match(await taskRecord(s, task_id), {
    status: 'in_progress',
    assignee_agent_id: agent.agent_id,
  })
  t.match(await goalRecord(s, goal_id), { remaining_dollars_cents: 700 })
  t.match(await eventsOf(s, taskClaimed), [{ goal_id, task_id, agent_id: agent.agent_id }])
  const entry = await s.tasks.records.loadFresh(s.owner_id, taskItemId(task_id))
  t.ok(holdsItem(WorkRecord.parse(entry?.value), agent.agent_id, s.clock.now()))
  t.match(entry?.value.task, { config_hash: `hash-of-${agent.agent_id}` })
})

t.test('of a hundred who claim at once one has the task', async (t) => {
  const s = await setupTasks(t)
  const goal_id = await newGoal(s, { budget_dollars_cents: 100 })
  const task_id = await newTask(s, goal_id, { budget_dollars_cents: 60 })
  const crowd = await Promise.all(Array.from({ length: 100 }, () => newAgent(s)))
  const outcomes = await Promise.all(
    crowd.map((agent) =>
      agent.take(task_id).then(
        () => agent.agent_id,
        (error: { details?: { error?: string } }) => error.details?.error,
      ),
    ),
  )
  const winners = outcomes.filter((outcome) => typeof outcome === 'number')
  t.equal(winners.length, 1)
  t.equal(outcomes.filter((outcome) => outcome === 'ErrAlreadyClaimed').length, 99)
  t.match(await taskRow(s, task_id), { assignee_agent_id: winners[0], status: 'in_progress' })
  t.equal((await holdsOf(s, goal_id)).length, 1)
  t.match(await goalRecord(s, goal_id), { remaining_dollars_cents: 40 })
  t.equal((await eventsOf(s, taskClaimed)).length, 1)
})

t.test('racers on several replicas, fifty times', async (t) => {
  const s = await setupTasks(t)
  await s.addReplica()
  await s.addReplica()
  const goal_id = await newGoal(s)
  const racers = await Promise.all(Array.from({ length: 6 }, () => newAgent(s)))
  const won: number[] = []
  for (let round = 0; round < 50; round += 1) {
    const task_id = await newTask(s, goal_id, { budget_tokens: 1 })
    const outcomes = await Promise.allSettled(racers.map((agent) => agent.take(task_id)))
    won.push(outcomes.filter(({ status }) => status === 'fulfilled').length)
  }
  t.strictSame([...new Set(won)], [1])
  t.equal((await holdsOf(s, goal_id)).length, 50)
})

t.test('its holder asks again and has the same lease, from any of its endpoints', async (t) => {
  const s = await setupTasks(t)
  const goal_id = await newGoal(s)
  const task_id = await newTask(s, goal_id)
  const agent = await newAgent(s)
  const both = await Promise.all([agent.take(task_id), sameAgent(s, agent).take(task_id)])
  const again = await agent.take(task_id)
  t.equal(new Set([...both, again].map((claim) => claim.lease_token)).size, 1)
  t.equal(new Set([...both, again].map((claim) => claim.fence)).size, 1)
  t.equal((await holdsOf(s, goal_id)).length, 1)
  t.equal((await eventsOf(s, taskClaimed)).length, 1)
})

t.test('what may not be claimed says why, in this order', async (t) => {
  const s = await setupTasks(t)
  const agent = await newAgent(s)
  const goal_id = await newGoal(s)
  t.equal(await refusal(agent.take(999_999)), 'ErrTaskNotFound')
  const task_id = await newTask(s, goal_id)
  t.equal(await refusal(ownerOf(s).take(task_id)), 'ErrNotPermitted')
  for (const status of ['paused', 'draft', 'stuck', 'completed', 'cancelled']) {
    const closed = await newGoal(s, { status })
    t.equal(await refusal(agent.take(await newTask(s, closed))), 'ErrGoalNotActive', status)
  }
  for (const budget of [{ budget_tokens: 0 }, { budget_dollars_cents: 0 }]) {
    const poor = await newGoal(s, budget)
    t.equal(await refusal(agent.take(await newTask(s, poor))), 'ErrGoalBudgetExceeded')
  }
  const small = await newGoal(s, { budget_tokens: 10 })
  const dear = await newTask(s, small, { budget_tokens: 11 })
  t.equal(await refusal(agent.take(dear)), 'ErrGoalBudgetExceeded')
  const parent = await newTask(s, goal_id, { is_leaf: false })
  t.equal(await refusal(agent.take(parent)), 'ErrTaskNotApproved')
  for (const status of ['proposed', 'done', 'failed', 'cancelled']) {
    t.equal(await refusal(agent.take(await newTask(s, goal_id, { status }))), 'ErrTaskNotApproved')
  }
  await (await newAgent(s)).take(task_id)
  t.equal(await refusal(agent.take(task_id)), 'ErrAlreadyClaimed')
  t.equal((await holdsOf(s, small)).length, 0)
})

t.test('the task of another owner is not even there', async (t) => {
  const s = await setupTasks(t)
  const task_id = await newTask(s, await newGoal(s))
  await s
    .db('tasks')
    .where({ task_id })
    .update({ owner_user_id: s.owner_id + 10_000 })
  const agent = await newAgent(s)
  const unknown = await rejectsWith(t, agent.take(task_id), 'not_found')
  t.equal(unknown.message.replaceAll(/\d+/g, '#'), 'there is no task #')
  t.equal(await refusal(agent.submit(task_id)), 'ErrTaskNotFound')
  t.equal(await refusal(ownerOf(s).verify(task_id, 'approve')), 'ErrTaskNotFound')
})

t.test('an agent in quarantine, or not active, takes nothing and changes nothing', async (t) => {
  const s = await setupTasks(t)
  const goal_id = await newGoal(s)
  const task_id = await newTask(s, goal_id, { budget_tokens: 5 })
  const agent = await newAgent(s)
  await setQuarantine(s, agent.agent_id, true)
  t.equal(await refusal(agent.take(task_id)), 'ErrAgentQuarantined')
  t.equal((await holdsOf(s, goal_id)).length, 0)
  t.match(await taskRow(s, task_id), { status: 'approved', assignee_agent_id: null })
  await setQuarantine(s, agent.agent_id, false)
  await setAgent(s, agent.agent_id, { status: 'inactive' })
  t.equal(await refusal(agent.take(task_id)), 'ErrNotPermitted')
  await setAgent(s, agent.agent_id, { config_hash: 'another' })
  await agent.take(task_id)
  const entry = await s.tasks.records.loadFresh(s.owner_id, taskItemId(task_id))
  t.match(entry?.value.task, { config_hash: 'another' })
})

t.test('an agent that was quarantined at work keeps its claim', async (t) => {
  const s = await setupTasks(t)
  const task_id = await newTask(s, await newGoal(s))
  const agent = await newAgent(s)
  const { lease_token } = await agent.take(task_id)
  await setQuarantine(s, agent.agent_id, true)
  t.equal((await agent.take(task_id)).lease_token, lease_token)
  t.match(await agent.submit(task_id, { lease_token }), { status: 'done' })
})

t.test('no todo list ever shows a task', async (t) => {
  const s = await setupTasks(t)
  const task_id = await newTask(s, await newGoal(s))
  const agent = await newAgent(s)
  await agent.take(task_id)
  await s.projected()
  t.strictSame((await s.human.list()).todos, [])
  t.strictSame((await s.human.oldest(3)).todos, [])
  t.equal((await s.human.next()).empty, true)
  t.equal((await s.db('todos').where({ owner_id: s.owner_id })).length, 0)
  for (const call of [s.human.claim, s.human.complete, s.human.fail, s.human.retry]) {
    await rejectsWith(t, call({ id: `tk_${task_id}` }), 'invalid_argument')
  }
  await rejectsWith(t, s.human.get(`tk_${task_id}`), 'invalid_argument')
})

t.test('heartbeat moves the lease of a task, release gives it back with its hold', async (t) => {
  const s = await setupTasks(t)
  const goal_id = await newGoal(s)
  const task_id = await newTask(s, goal_id, { budget_tokens: 10 })
  const agent = await newAgent(s)
  const other = await newAgent(s)
  const { lease_token, item_id, fence } = await agent.take(task_id, { lease_ttl_seconds: 60 })
  await pass(s, 50)
  await agent.heartbeat({ id: item_id, lease_token, lease_ttl_seconds: 60 })
  await pass(s, 50)
  t.equal((await agent.take(task_id)).fence, fence)
  t.equal(await refusal(other.heartbeat({ id: item_id })), 'ErrClaimExpired')
  t.equal(await refusal(other.release({ id: item_id })), 'ErrClaimExpired')
  const released = await agent.release({ id: item_id, lease_token })
  t.match(released, { state: 'pending' })
  t.match(await taskRow(s, task_id), { status: 'approved', assignee_agent_id: null })
  t.equal((await holdsOf(s, goal_id)).length, 0)
  const next = await other.take(task_id)
  t.ok(next.fence > fence)
})

t.test('a lease that ended is free at once, and its late holder is refused', async (t) => {
  const s = await setupTasks(t)
  const task_id = await newTask(s, await newGoal(s))
  const [first, second] = [await newAgent(s), await newAgent(s)]
  const late = await first.take(task_id, { lease_ttl_seconds: 60 })
  s.clock.advance(61_000)
  t.equal(
    await refusal(first.submit(task_id, { lease_token: late.lease_token })),
    'ErrClaimExpired',
  )
  const claim = await second.take(task_id)
  t.ok(claim.fence > late.fence)
  t.equal(
    await refusal(first.submit(task_id, { lease_token: late.lease_token })),
    'ErrClaimExpired',
  )
  t.equal(await refusal(first.heartbeat({ id: late.item_id })), 'ErrClaimExpired')
  t.match(await second.submit(task_id), { status: 'done' })
  t.equal(await refusal(first.submit(task_id)), 'ErrClaimExpired')
})

t.test('cancelling the goal takes its tasks from their holders', async (t) => {
  const s = await setupTasks(t)
  const goal_id = await newGoal(s, { budget_tokens: 100 })
  const [held, open] = [
    await newTask(s, goal_id, { budget_tokens: 10 }),
    await newTask(s, goal_id, { budget_tokens: 10 }),
  ]
  const agent = await newAgent(s)
  const { item_id, lease_token } = await agent.take(held)
  await s.human.call(cancelGoal, { goal_id })
  await s.projected()
  t.equal(await refusal(agent.submit(held, { lease_token })), 'ErrClaimExpired')
  t.equal(await refusal(agent.heartbeat({ id: item_id, lease_token })), 'ErrClaimExpired')
  t.equal(await refusal(agent.take(open)), 'ErrGoalNotActive')
  t.match(await taskRow(s, held), { status: 'cancelled' })
  t.match(await taskRow(s, open), { status: 'cancelled' })
  t.equal((await holdsOf(s, goal_id)).length, 0)
})

t.test('a revoked endpoint loses its tasks at once', async (t) => {
  const s = await setupTasks(t)
  const goal_id = await newGoal(s)
  const task_id = await newTask(s, goal_id, { budget_tokens: 10 })
  const agent = await newAgent(s)
  await agent.take(task_id)
  await publish(s.bus, subjects.event('approvals', 'endpoint', 'revoked'), {
    v: 1,
    endpoint_id: agent.principal.endpoint_id,
    agent_id: agent.agent_id,
    user_id: s.owner_id,
    revoked_at: s.clock.now(),
  })
  await waitFor(async () => (await taskRow(s, task_id))?.status === 'approved', {
    what: 'the task to be free',
  })
  t.equal((await holdsOf(s, goal_id)).length, 0)
  t.equal((await eventsOf(s, evidenceEarned)).length, 0)
  t.equal(await refusal(agent.submit(task_id)), 'ErrClaimExpired')
})
