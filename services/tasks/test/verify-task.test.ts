import { randomUUID } from 'node:crypto'
import { publish } from '@guildhall/bus'
import {
  type CommandFinished,
  commandFinished,
  commandRequested,
  evidenceEarned,
  noticePosted,
  PEER_VERIFICATION_SECONDS,
  type VerifierConfig,
} from '@guildhall/contracts'
import { waitFor } from '@guildhall/testing'
import t from 'tap'
import { takeCommandVerdict } from '../src/consumers/on-command-finished.ts'
import { type Bundle, stopServer } from './setup.ts'
import {
  type Agent,
  eventsOf,
  goalRow,
  newAgent,
  newGoal,
  newTask,
  ownerOf,
  pass,
  refusal,
  setAgent,
  setQuarantine,
  setupTasks,
  taskRow,
} from './task-setup.ts'

t.after(stopServer)

const notices = noticePosted('tasks')

const verdicts = async (s: Bundle) =>
  (await eventsOf(s, evidenceEarned)).map(({ kind, agent_id }) => [kind, agent_id])

/** What was told about verification, and to whom. */
const asked = async (s: Bundle) =>
  (await eventsOf(s, notices)).filter(({ metadata }) => metadata.kind === 'verification')

interface Submitted {
  readonly task_id: number
  readonly goal_id: number
  readonly worker: Agent
}

const submitted = async (
  s: Bundle,
  verifier: VerifierConfig,
  worker?: Agent,
  goal: Parameters<typeof newGoal>[1] = {},
): Promise<Submitted> => {
  const goal_id = await newGoal(s, goal)
  const task_id = await newTask(s, goal_id, {
    verifier,
    billing_code: 'docs',
    acceptance_criteria: 'every flag is listed',
  })
  const by = worker ?? (await newAgent(s))
  await by.take(task_id)
  await by.submit(task_id, { artifact: 'report.txt', usage: { tokens: 5 } })
  return { task_id, goal_id, worker: by }
}

t.test('a peer is told what to look at, and its approval makes the task done', async (t) => {
  const s = await setupTasks(t)
  const peer = await newAgent(s)
  const { task_id, worker } = await submitted(s, { kind: 'peer', agent_id: peer.agent_id })
  t.match(await taskRow(s, task_id), { status: 'awaiting_verification' })
  t.match(await asked(s), [
    {
      to: { kind: 'agent', agent_id: peer.agent_id },
      metadata: { task_id, acceptance_criteria: 'every flag is listed', artifact: 'report.txt' },
    },
  ])
  const stranger = await newAgent(s)
  t.equal(await refusal(stranger.verify(task_id, 'approve')), 'ErrNotPermittedVerifier')
  t.equal(await refusal(worker.verify(task_id, 'approve')), 'ErrNotPermittedVerifier')
  t.strictSame(await peer.verify(task_id, 'approve'), { task_id, new_status: 'done' })
  t.strictSame(await verdicts(s), [['verified_peer', worker.agent_id]])
  for (const verdict of ['approve', 'reject']) {
    t.equal(await refusal(peer.verify(task_id, verdict)), 'ErrTaskNotAwaitingVerification')
    t.equal(await refusal(ownerOf(s).verify(task_id, verdict)), 'ErrTaskNotAwaitingVerification')
  }
  t.equal((await eventsOf(s, evidenceEarned)).length, 1)
})

t.test('a rejection fails the task, and the coordinator is told why', async (t) => {
  const s = await setupTasks(t)
  const peer = await newAgent(s)
  const coordinator = await newAgent(s)
  const { task_id, worker } = await submitted(
    s,
    { kind: 'peer', agent_id: peer.agent_id },
    undefined,
    { coordinator_agent_id: coordinator.agent_id },
  )
  t.match(await peer.verify(task_id, 'reject', 'flag list empty'), { new_status: 'failed' })
  t.match(await taskRow(s, task_id), {
    status: 'failed',
    failure_reason: 'flag list empty',
    completed_at: String,
  })
  t.match(
    (await eventsOf(s, notices)).filter(({ metadata }) => metadata.verdict === 'reject'),
    [
      {
        to: { kind: 'agent', agent_id: coordinator.agent_id },
        metadata: { task_id, reason: 'flag list empty' },
      },
    ],
  )
  t.strictSame(await verdicts(s), [['rejected', worker.agent_id]])
  t.equal(await refusal(worker.take(task_id)), 'ErrTaskNotApproved')
})

t.test('verdicts in parallel: one counts', async (t) => {
  const s = await setupTasks(t)
  await s.addReplica()
  const peer = await newAgent(s)
  const { task_id } = await submitted(s, { kind: 'peer', agent_id: peer.agent_id })
  const outcomes = await Promise.allSettled(
    Array.from({ length: 10 }, (_, i) => peer.verify(task_id, i % 2 === 0 ? 'approve' : 'reject')),
  )
  t.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
  t.equal((await eventsOf(s, evidenceEarned)).length, 1)
})

t.test(
  'only a task with a peer takes the verdict of an agent, and only when it waits',
  async (t) => {
    const s = await setupTasks(t)
    const goal_id = await newGoal(s)
    const peer = await newAgent(s)
    const auto = await newTask(s, goal_id)
    const open = await newTask(s, goal_id, { verifier: { kind: 'peer', agent_id: peer.agent_id } })
    t.equal(await refusal(peer.verify(auto, 'approve')), 'ErrVerifierNotConfigured')
    t.equal(await refusal(peer.verify(open, 'approve')), 'ErrTaskNotAwaitingVerification')
    const worker = await newAgent(s)
    await worker.take(open)
    t.equal(await refusal(peer.verify(open, 'approve')), 'ErrTaskNotAwaitingVerification')
    t.equal(await refusal(peer.verify(999_999, 'approve')), 'ErrTaskNotFound')
  },
)

t.test('a verifier that is not independent may not judge; the owner then does', async (t) => {
  const s = await setupTasks(t)
  const itself = await newAgent(s)
  const twin = await newAgent(s)
  const worker = await newAgent(s, { config_hash: `hash-of-${twin.agent_id}` })
  const asleep = await newAgent(s, { status: 'inactive' })
  const caught = await newAgent(s)
  await setQuarantine(s, caught.agent_id, true)
  const rows: readonly (readonly [Agent, Agent])[] = [
    [itself, itself],
    [twin, worker],
    [asleep, worker],
    [caught, worker],
  ]
  for (const [peer, by] of rows) {
    const before = (await asked(s)).length
    const { task_id } = await submitted(s, { kind: 'peer', agent_id: peer.agent_id }, by)
    t.equal(await refusal(peer.verify(task_id, 'approve')), 'ErrNotPermittedVerifier')
    const told = await asked(s)
    t.match(told.slice(before), [{ to: { kind: 'owner' }, metadata: { task_id } }])
    t.match(await ownerOf(s).verify(task_id, 'approve'), { new_status: 'done' })
  }
})

t.test('a peer that became bad after it was asked is refused', async (t) => {
  const s = await setupTasks(t)
  const peer = await newAgent(s)
  const { task_id } = await submitted(s, { kind: 'peer', agent_id: peer.agent_id })
  await setQuarantine(s, peer.agent_id, true)
  t.equal(await refusal(peer.verify(task_id, 'approve')), 'ErrNotPermittedVerifier')
  await setQuarantine(s, peer.agent_id, false)
  await setAgent(s, peer.agent_id, { user_id: s.owner_id })
  t.match(await peer.verify(task_id, 'approve'), { new_status: 'done' })
})

t.test('a peer that is silent for a day is given up, and the owner told once', async (t) => {
  const s = await setupTasks(t)
  const peer = await newAgent(s)
  const { task_id } = await submitted(s, { kind: 'peer', agent_id: peer.agent_id })
  await pass(s, PEER_VERIFICATION_SECONDS - 10)
  t.equal((await asked(s)).length, 1)
  await pass(s, 20)
  await pass(s, PEER_VERIFICATION_SECONDS)
  t.match(await asked(s), [
    { to: { kind: 'agent' } },
    { to: { kind: 'owner' }, metadata: { task_id } },
  ])
  t.strictSame(await verdicts(s), [])
  t.match(await ownerOf(s).verify(task_id, 'reject', 'late'), { new_status: 'failed' })
})

const COMMAND: VerifierConfig = { kind: 'command', cmd: `test -s 'report.txt'`, timeout_sec: 10 }

const finished = (
  s: Bundle,
  { task_id, revision }: { task_id: number; revision: number },
  outcome: CommandFinished['outcome'],
): CommandFinished => ({
  v: 1,
  user_id: s.owner_id,
  task_id,
  revision,
  outcome,
  exit_code: outcome === 'passed' ? 0 : outcome === 'failed' ? 1 : null,
  output: outcome === 'failed' ? 'report.txt is empty' : '',
  output_truncated: false,
  at: s.clock.now(),
})

t.test('a command is asked for with its arguments, folder, time and context', async (t) => {
  const s = await setupTasks(t)
  const { task_id, goal_id } = await submitted(s, { ...COMMAND, cwd: 'site' })
  t.match(await eventsOf(s, commandRequested), [
    {
      goal_id,
      task_id,
      argv: ['test', '-s', 'report.txt'],
      cwd: 'site',
      timeout_sec: 10,
      env: {
        GUILDHALL_GOAL_ID: String(goal_id),
        GUILDHALL_TASK_ID: String(task_id),
        GUILDHALL_TASK_TITLE: 'write the page',
        GUILDHALL_TASK_ARTIFACT: 'report.txt',
      },
    },
  ])
  const agent = await newAgent(s)
  t.equal(await refusal(agent.verify(task_id, 'approve')), 'ErrVerifierNotConfigured')
})

const outcomes = [
  ['passed', 'done', 'verified_command', null],
  ['failed', 'failed', 'rejected', /exit code 1\nreport.txt is empty/],
  ['timed_out', 'failed', 'timed_out', /did not end in time/],
  ['refused', 'failed', undefined, /was not run/],
] as const

for (const [outcome, status, evidence, reason] of outcomes) {
  t.test(`a command that ${outcome} is the verdict, however often it says so`, async (t) => {
    const s = await setupTasks(t)
    const { task_id, worker } = await submitted(s, COMMAND)
    const [request] = await eventsOf(s, commandRequested)
    if (request === undefined) throw new Error('the command was asked for')
    const event = finished(s, request, outcome)
    await publish(s.bus, commandFinished.subject, event, { msg_id: randomUUID() })
    await publish(s.bus, commandFinished.subject, event, { msg_id: randomUUID() })
    await waitFor(async () => (await taskRow(s, task_id))?.status === status, { what: status })
    t.match(await taskRow(s, task_id), { failure_reason: reason })
    t.strictSame(await verdicts(s), evidence === undefined ? [] : [[evidence, worker.agent_id]])
  })
}

t.test('a verdict on another report is void', async (t) => {
  const s = await setupTasks(t)
  const { task_id } = await submitted(s, COMMAND)
  const [request] = await eventsOf(s, commandRequested)
  if (request === undefined) throw new Error('the command was asked for')
  await takeCommandVerdict(
    s.tasks,
    finished(s, { ...request, revision: request.revision - 1 }, 'passed'),
  )
  await takeCommandVerdict(s.tasks, { ...finished(s, request, 'passed'), user_id: s.owner_id + 9 })
  t.match(await taskRow(s, task_id), { status: 'awaiting_verification' })
  t.match(await ownerOf(s).verify(task_id, 'approve'), { new_status: 'done' })
  await takeCommandVerdict(s.tasks, finished(s, request, 'failed'))
  t.match(await taskRow(s, task_id), { status: 'done' })
})

t.test('a command without an answer is asked for again, and in the end given up', async (t) => {
  const s = await setupTasks(t)
  const { task_id } = await submitted(s, COMMAND)
  const requests = async () => (await eventsOf(s, commandRequested)).length
  await pass(s, 60)
  t.equal(await requests(), 1)
  await pass(s, 11)
  t.equal(await requests(), 2)
  await pass(s, 71)
  t.equal(await requests(), 3)
  for (let round = 0; round < 3; round += 1) await pass(s, 71)
  t.equal(await requests(), 3)
  t.match(await asked(s), [{ to: { kind: 'owner' }, metadata: { task_id } }])
  const [request] = await eventsOf(s, commandRequested)
  if (request === undefined) throw new Error('the command was asked for')
  await takeCommandVerdict(s.tasks, finished(s, request, 'passed'))
  t.match(await taskRow(s, task_id), { status: 'done' })
})

t.test('a command that cannot be read fails the task and blames nobody', async (t) => {
  const s = await setupTasks(t)
  const { task_id } = await submitted(s, { kind: 'command', cmd: "test -s 'report.txt" })
  t.match(await taskRow(s, task_id), { status: 'failed', failure_reason: /is not closed/ })
  t.strictSame(await verdicts(s), [])
  t.equal((await eventsOf(s, commandRequested)).length, 0)
})

t.test(
  'on a paused goal verdicts are recorded, and nothing is launched until it goes on',
  async (t) => {
    const s = await setupTasks(t)
    const peer = await newAgent(s)
    const before = await submitted(s, { kind: 'peer', agent_id: peer.agent_id })
    await s.db('goals').where({ goal_id: before.goal_id }).update({ status: 'paused' })
    t.match(await peer.verify(before.task_id, 'approve'), { new_status: 'done' })
    const after = await submitted(s, COMMAND, undefined, { budget_tokens: 5 })
    t.match(await goalRow(s, after.goal_id), { status: 'paused', spent_tokens: 5 })
    t.match(await taskRow(s, after.task_id), { status: 'awaiting_verification' })
    await pass(s, 30)
    t.equal((await eventsOf(s, commandRequested)).length, 0)
    await s.db('goals').where({ goal_id: after.goal_id }).update({ status: 'active' })
    await pass(s, 10)
    const [request, ...more] = await eventsOf(s, commandRequested)
    t.strictSame(more, [])
    if (request === undefined) throw new Error('the command was asked for')
    await s.db('goals').where({ goal_id: after.goal_id }).update({ status: 'paused' })
    await takeCommandVerdict(s.tasks, finished(s, request, 'passed'))
    t.match(await taskRow(s, after.task_id), { status: 'done' })
  },
)

t.test('an automatic verdict on a paused goal needs nobody', async (t) => {
  const s = await setupTasks(t)
  const { task_id, goal_id } = await submitted(s, { kind: 'auto' }, undefined, { budget_tokens: 5 })
  t.match(await goalRow(s, goal_id), { status: 'paused' })
  t.match(await taskRow(s, task_id), { status: 'done' })
})
