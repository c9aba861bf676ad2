import {
  buckets,
  commandRequested,
  evidenceEarned,
  noticePosted,
  taskClaimed as taskClaimedEvent,
  taskItemId,
  usageRecorded,
  WorkRecord,
  workKey,
} from '@guildhall/contracts'
import t from 'tap'
import { reconcileOnce } from '../src/reconcilers/reconcile.ts'
import { claimOf } from '../src/task-claiming.ts'
import { followTasks } from '../src/task-effects.ts'
import { isTask, taskClaimed, taskSubmitted } from '../src/task-item.ts'
import { loadTask } from '../src/verdict.ts'
import { rejectsWith, stopServer } from './setup.ts'
import {
  eventsOf,
  goalRecord,
  goalRow,
  holdsOf,
  newAgent,
  newGoal,
  newTask,
  ownerOf,
  pass,
  refusal,
  setAgent,
  setupTasks,
  taskRow,
} from './task-setup.ts'

t.after(stopServer)

const notices = noticePosted('tasks')

t.test('work without a verifier is done when it is handed in', async (t) => {
  const s = await setupTasks(t)
  const goal_id = await newGoal(s, { budget_dollars_cents: 1_000 })
  const task_id = await newTask(s, goal_id, {
    billing_code: 'docs.scan',
    budget_dollars_cents: 500,
  })
  const agent = await newAgent(s)
  const { lease_token } = await agent.take(task_id)
  const answer = await agent.submit(task_id, {
    lease_token,
    summary: 'all flags are listed',
    artifact: 'report.txt',
    usage: { tokens: 1_200, cost_minor: 25 },
  })
  t.strictSame(answer, { task_id, status: 'done', goal_status: 'active', verifier: 'auto' })
  t.match(await taskRow(s, task_id), {
    status: 'done',
    result_summary: 'all flags are listed',
    artifact: 'report.txt',
    spent_tokens: 1_200,
    spent_dollars_cents: 25,
    completed_at: String,
    assignee_agent_id: agent.agent_id,
  })
  t.match(await eventsOf(s, evidenceEarned), [
    {
      agent_id: agent.agent_id,
      config_hash: `hash-of-${agent.agent_id}`,
      domain: 'docs',
      kind: 'verified_auto',
      ref: `task:${task_id} verified=auto`,
      task_id,
    },
  ])
  t.match(await eventsOf(s, usageRecorded), [
    { goal_id, task_id, tokens: 1_200, cost_minor: 25, billing_code: 'docs.scan' },
  ])
  t.match(await goalRecord(s, goal_id), { remaining_dollars_cents: 975 })
  t.equal((await holdsOf(s, goal_id)).length, 0)
  const moves = (await eventsOf(s, notices)).filter(
    ({ metadata }) => metadata.kind === 'task_moved',
  )
  t.strictSame(
    moves.map(({ metadata }) => [metadata.task_id, metadata.title, metadata.old, metadata.new]),
    [
      [task_id, 'write the page', 'approved', 'in_progress'],
      [task_id, 'write the page', 'in_progress', 'awaiting_verification'],
      [task_id, 'write the page', 'awaiting_verification', 'done'],
    ],
  )
  t.equal(moves[0]?.metadata.actor, `agent:${agent.agent_id}`)
  const log = await s.db('goal_events').where({ goal_id, kind: 'task_moved' })
  t.equal(log.length, 3)
})

t.test('a repeat has the same answer and changes nothing', async (t) => {
  const s = await setupTasks(t)
  const goal_id = await newGoal(s)
  const task_id = await newTask(s, goal_id)
  const agent = await newAgent(s)
  const { lease_token } = await agent.take(task_id)
  const report = { lease_token, usage: { tokens: 10, cost_minor: 1 } }
  const first = await agent.submit(task_id, { ...report, idempotency_key: 'one' })
  t.strictSame(await agent.submit(task_id, { ...report, idempotency_key: 'one' }), first)
  t.strictSame(await agent.submit(task_id, report), first)
  t.strictSame(await agent.submit(task_id), first)
  t.match(await goalRow(s, goal_id), { spent_tokens: 10, spent_dollars_cents: 1 })
  t.equal((await eventsOf(s, evidenceEarned)).length, 1)
  t.equal((await eventsOf(s, usageRecorded)).length, 1)
})

t.test('submits in parallel count once', async (t) => {
  const s = await setupTasks(t)
  await s.addReplica()
  const goal_id = await newGoal(s)
  const task_id = await newTask(s, goal_id)
  const agent = await newAgent(s)
  await agent.take(task_id)
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => agent.submit(task_id, { usage: { tokens: 7 } })),
  )
  t.strictSame([...new Set(answers.map(({ status }) => status))], ['done'])
  t.match(await goalRow(s, goal_id), { spent_tokens: 7 })
  t.equal((await eventsOf(s, evidenceEarned)).length, 1)
})

t.test('only its holder hands it in, with the token where one is required', async (t) => {
  const s = await setupTasks(t)
  const goal_id = await newGoal(s)
  const task_id = await newTask(s, goal_id)
  const [agent, other] = [await newAgent(s, { require_fence: true }), await newAgent(s)]
  t.equal(await refusal(agent.submit(task_id)), 'ErrClaimExpired')
  const { lease_token, item_id } = await agent.take(task_id)
  t.equal(await refusal(other.submit(task_id)), 'ErrClaimExpired')
  t.equal(await refusal(other.submit(task_id, { lease_token })), 'ErrClaimExpired')
  t.equal(await refusal(ownerOf(s).submit(task_id)), 'ErrClaimExpired')
  t.equal(await refusal(agent.submit(task_id)), 'ErrClaimExpired')
  t.equal(await refusal(agent.submit(task_id, { lease_token: 'x' })), 'ErrClaimExpired')
  await agent.release({ id: item_id, lease_token })
  t.equal(await refusal(agent.submit(task_id, { lease_token })), 'ErrClaimExpired')
  const again = await agent.take(task_id)
  t.equal(await refusal(agent.submit(task_id, { lease_token })), 'ErrClaimExpired')
  t.match(await agent.submit(task_id, { lease_token: again.lease_token }), { status: 'done' })
  t.equal(await refusal(agent.submit(task_id, { lease_token })), 'ErrClaimExpired')
  t.equal(await refusal(agent.submit(task_id)), 'ErrClaimExpired')
  await rejectsWith(t, agent.submit(task_id, { usage: { tokens: -1 } }), 'invalid_argument')
})

t.test('a lapse costs the one who let it lapse, once, and the task is free again', async (t) => {
  const s = await setupTasks(t)
  const goal_id = await newGoal(s)
  const task_id = await newTask(s, goal_id, { billing_code: 'ops/db', budget_tokens: 3 })
  const agent = await newAgent(s)
  await agent.take(task_id, { lease_ttl_seconds: 60 })
  await pass(s, 61)
  await pass(s, 1)
  t.match(await taskRow(s, task_id), { status: 'approved', assignee_agent_id: null })
  t.equal((await holdsOf(s, goal_id)).length, 0)
  t.match(await eventsOf(s, evidenceEarned), [
    { kind: 'lapsed', agent_id: agent.agent_id, domain: 'ops', config_hash: String },
  ])
  await (await newAgent(s)).take(task_id)
  await s.projected()
  t.equal((await eventsOf(s, evidenceEarned)).length, 1)
})

t.test('budget: one message at 80 %, a pause at 100 %, then nothing more', async (t) => {
  const s = await setupTasks(t)
  const goal_id = await newGoal(s, { budget_dollars_cents: 100 })
  const agent = await newAgent(s)
  const run = async (cost_minor: number) => {
    const task_id = await newTask(s, goal_id)
    await agent.take(task_id)
    return await agent.submit(task_id, { usage: { cost_minor } })
  }
  const alerts = async () =>
    (await eventsOf(s, notices)).filter(({ metadata }) => metadata.kind === 'budget_alert').length
  await run(40)
  t.equal(await alerts(), 0)
  t.match(await run(45), { goal_status: 'active' })
  t.equal(await alerts(), 1)
  const last = await newTask(s, goal_id)
  t.match(await run(30), { status: 'done', goal_status: 'paused' })
  t.equal(await alerts(), 1)
  t.equal(await refusal(agent.take(last)), 'ErrGoalBudgetExceeded')
  t.match(await goalRow(s, goal_id), { spent_dollars_cents: 115, status: 'paused' })
})

t.test('two reports that cross the lines together cross them once', async (t) => {
  const s = await setupTasks(t)
  await s.addReplica()
  const goal_id = await newGoal(s, { budget_tokens: 100 })
  const workers = await Promise.all(Array.from({ length: 4 }, () => newAgent(s)))
  const claims = await Promise.all(
    workers.map(async (agent) => {
      const task_id = await newTask(s, goal_id)
      await agent.take(task_id)
      return { agent, task_id }
    }),
  )
  await Promise.all(
    claims.map(({ agent, task_id }) => agent.submit(task_id, { usage: { tokens: 45 } })),
  )
  const kinds = (await eventsOf(s, notices)).map(
    ({ metadata, to }) => `${metadata.kind}:${to.kind}`,
  )
  t.equal(kinds.filter((kind) => kind === 'budget_alert:goal').length, 1)
  t.equal(kinds.filter((kind) => kind === 'budget_pause:owner').length, 1)
  t.match(await goalRow(s, goal_id), { spent_tokens: 180, status: 'paused' })
})

t.test(
  'a crash between the write and what follows from it loses and doubles nothing',
  async (t) => {
    const s = await setupTasks(t)
    const goal_id = await newGoal(s)
    const task_id = await newTask(s, goal_id, { budget_tokens: 50 })
    const agent = await newAgent(s)
    await agent.take(task_id)
    const claim = await loadTask(s.tasks, s.owner_id, task_id)
    if (claim === undefined) throw new Error('the task is claimed')
    const report = {
      summary: null,
      artifact: null,
      tokens: 30,
      cost_minor: 3,
      attempt_summary: null,
      attempt_summary_truncated: false,
      key_hash: undefined,
    }
    const next = taskSubmitted(claim.record, report, s.clock.now())
    if (next === undefined) throw new Error('a claimed task can be handed in')
    const revision = await s.tasks.records.replace(next, claim.revision)
    await s.projected()
    t.match(await taskRow(s, task_id), { status: 'awaiting_verification', spent_tokens: 30 })
    t.equal((await holdsOf(s, goal_id)).length, 0)
    await pass(s, 1)
    t.match(await taskRow(s, task_id), { status: 'done' })
    await followTasks(s.tasks, [{ record: next, revision: revision ?? 0 }])
    await s.projected()
    t.match(await taskRow(s, task_id), { status: 'done', spent_tokens: 30 })
    t.match(await goalRow(s, goal_id), { spent_tokens: 30, spent_dollars_cents: 3 })
    t.equal((await eventsOf(s, evidenceEarned)).length, 1)
    t.equal((await eventsOf(s, usageRecorded)).length, 1)
    t.equal((await eventsOf(s, taskClaimedEvent)).length, 1)
  },
)

t.test('parents end with their children', async (t) => {
  const s = await setupTasks(t)
  const goal_id = await newGoal(s)
  const root = await newTask(s, goal_id, { is_leaf: false })
  const a = await newTask(s, goal_id, { parent_task_id: root, is_leaf: false })
  const leaves = [
    await newTask(s, goal_id, { parent_task_id: a }),
    await newTask(s, goal_id, { parent_task_id: root }),
  ]
  const agent = await newAgent(s)
  for (const [i, task_id] of leaves.entries()) {
    await agent.take(task_id)
    await agent.submit(task_id, { usage: { tokens: 100 * (i + 1), cost_minor: 50 } })
    t.match(await taskRow(s, a), { status: 'done' })
    t.match(await taskRow(s, root), { status: i === 0 ? 'approved' : 'done' })
  }
  t.match(await goalRow(s, goal_id), { spent_tokens: 300, spent_dollars_cents: 100 })
})

t.test(
  'the records of tasks come back from their projection, and nothing counts twice',
  async (t) => {
    const s = await setupTasks(t, { own_server: true })
    const goal_id = await newGoal(s)
    const agent = await newAgent(s)
    const peer = await newAgent(s)
    const open = await newTask(s, goal_id, { budget_tokens: 5 })
    const waiting = await newTask(s, goal_id, {
      verifier: { kind: 'peer', agent_id: peer.agent_id },
    })
    await agent.take(open)
    await agent.take(waiting)
    await agent.submit(waiting, { usage: { tokens: 9 } })
    await s.projected()
    t.match(await reconcileOnce(s.tasks), { records_restored: 0, reprojected: 0 })
    await s.bus.jsm.streams.purge('KV_work')
    t.match(await reconcileOnce(s.tasks), { records_restored: 2, messages_restored: 0 })
    await s.projected()
    t.match(await taskRow(s, open), { status: 'approved', assignee_agent_id: null })
    t.equal((await holdsOf(s, goal_id)).length, 0)
    t.match(await taskRow(s, waiting), { status: 'awaiting_verification', spent_tokens: 9 })
    t.match(await goalRow(s, goal_id), { spent_tokens: 9 })
    await agent.take(open)
    t.match(await peer.verify(waiting, 'approve'), { new_status: 'done' })
    t.match(
      (await eventsOf(s, evidenceEarned)).map(({ kind }) => kind),
      ['verified_peer'],
    )
    const entry = await s.tasks.records.loadFresh(s.owner_id, taskItemId(waiting))
    await s.db('task_items').where({ task_id: waiting }).update({ revision: 1 })
    t.match(await reconcileOnce(s.tasks), { records_restored: 0, reprojected: 1 })
    t.match(await s.db('task_items').where({ task_id: waiting }).first(), {
      revision: entry?.revision,
    })
    t.equal((await eventsOf(s, commandRequested)).length, 0)
  },
)

t.test('a claim whose claimer died at once has its effects all the same, once', async (t) => {
  const s = await setupTasks(t)
  const goal_id = await newGoal(s)
  const task_id = await newTask(s, goal_id, { budget_tokens: 5 })
  const first = await newAgent(s)
  const { item_id } = await first.take(task_id)
  await first.release({ id: item_id })
  const free = await loadTask(s.tasks, s.owner_id, task_id)
  if (free === undefined) throw new Error('the task has a record')
  const agent = await newAgent(s)
  const claim = claimOf(s.tasks, free.record, {
    principal: agent.principal,
    agent: await setAgent(s, agent.agent_id),
    lease_ttl_seconds: 60,
  })
  const next = taskClaimed(free.record, claim, s.clock.now())
  if (next === undefined) throw new Error('the task is free')
  await s.tasks.records.replace(next, free.revision)
  await s.projected()
  t.match(await taskRow(s, task_id), { status: 'in_progress', assignee_agent_id: agent.agent_id })
  t.equal((await agent.take(task_id)).item_id, item_id)
  t.strictSame(
    (await eventsOf(s, taskClaimedEvent)).map(({ agent_id }) => agent_id),
    [first.agent_id, agent.agent_id],
  )
})

t.test('every revision delivered again changes nothing', async (t) => {
  const s = await setupTasks(t)
  const goal_id = await newGoal(s, { budget_tokens: 100 })
  const task_id = await newTask(s, goal_id)
  const agent = await newAgent(s)
  await agent.take(task_id, { lease_ttl_seconds: 60 })
  await pass(s, 61)
  const { item_id } = await agent.take(task_id)
  await agent.heartbeat({ id: item_id })
  await agent.submit(task_id, { usage: { tokens: 85 } })
  const state = async () => ({
    task: await taskRow(s, task_id),
    goal: await goalRow(s, goal_id),
    evidence: await eventsOf(s, evidenceEarned),
    notices: (await eventsOf(s, notices)).length,
    log: (await s.db('goal_events').where({ goal_id })).length,
  })
  const before = await state()
  t.strictSame(
    before.evidence.map(({ kind }) => kind),
    ['lapsed', 'verified_auto'],
  )
  const history = await s.bus.js.views.kv(buckets.work)
  for await (const entry of await history.history({ key: workKey(s.owner_id, item_id) })) {
    const record = WorkRecord.parse(entry.json())
    if (isTask(record)) await followTasks(s.tasks, [{ record, revision: entry.revision }])
  }
  await s.sweep()
  t.strictSame(await state(), before)
})
