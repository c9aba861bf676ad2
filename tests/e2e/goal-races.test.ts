import {
  claimTask,
  createAgent,
  getGoal,
  getReputation,
  release,
  submitTask,
  taskItemId,
  unquarantineAgent,
  verifyTask,
} from '@guildhall/contracts'
import { waitFor } from '@guildhall/testing'
import t from 'tap'
import { type Agent, postRpc } from './support/agent.ts'
import {
  ableAgent,
  decide,
  messagesIn,
  messagesThatSay,
  node,
  plannedGoal,
  propose,
  settled,
  taskNamed,
  tasksOf,
} from './support/goals.ts'
import { firstOwner, type Vended } from './support/owner.ts'
import { runningSystem } from './support/running-system.ts'

/** Many at once, over two gateways and two replicas of the tasks service. */

const RACERS = 100
const VENDS_AT_ONCE = 10
const QUARANTINE_REACHES_MS = 1_000

const system = await runningSystem(t, {
  replicas: { 'mcp-gateway': 2, tasks: 2 },
  log_level: 'debug',
})
const owner = firstOwner(system)
const coordinator = await ableAgent(owner, 'coordinator')
const reviewer = await ableAgent(owner, 'reviewer')

const agentNo = (index: number): Promise<Vended> =>
  ableAgent(owner, `racer-${index}`, system.mcp_urls[index % system.mcp_urls.length])

const racers: Vended[] = []
while (racers.length < RACERS) {
  const from = racers.length
  const batch = Array.from({ length: VENDS_AT_ONCE }, (_, i) => agentNo(from + i))
  racers.push(...(await Promise.all(batch)))
}
const [one, two, three] = racers as [Vended, Vended, Vended]

const errorOf = async (agent: Agent, task_id: number): Promise<unknown> => {
  const result = await agent.tool('claim_task', { task_id })
  if (result.isError !== true) return 'claimed'
  return JSON.parse(result.content[0]?.text ?? '{}').details?.error
}

/** Calls that each replica of the tasks service has answered so far, by its log. */
const answered = (operation: string): number[] =>
  system.services.tasks.map(
    (replica) =>
      replica
        .logs()
        .split('\n')
        .filter((line) => line.includes(`"${operation}"`)).length,
  )

t.test('S18 of a hundred claims at once one wins', async (t) => {
  const { tasks } = await plannedGoal(owner, coordinator, node('contested'))
  const { task_id } = taskNamed(tasks, 'contested')
  const before = answered('claim_task')
  const outcomes = await Promise.all(racers.map((agent) => errorOf(agent, task_id)))
  const count = (outcome: string) => outcomes.filter((one) => one === outcome).length
  t.equal(count('claimed'), 1)
  t.equal(count('ErrAlreadyClaimed'), RACERS - 1)
  const after = answered('claim_task')
  t.ok(
    after.every((calls, i) => calls > (before[i] ?? 0)),
    'both replicas were asked',
  )

  const winner = racers[outcomes.indexOf('claimed')]
  const task = await waitFor(
    async () => {
      const found = taskNamed(
        await tasksOf(owner, taskNamed(tasks, 'contested').goal_id),
        'contested',
      )
      return found.assignee_agent_id !== null && found
    },
    { what: 'the assignee in the goal' },
  )
  t.equal(task.assignee_agent_id, winner?.endpoint.agent_id)
  const first = await winner?.call(claimTask, { task_id })
  const again = await winner?.call(claimTask, { task_id })
  t.equal(first?.lease_token, again?.lease_token, 'the holder has one lease, however often it asks')
})

t.test('S9 two approvals at once make one tree', async (t) => {
  const made = await owner.rest('POST', '/goals', {
    title: 'Decided twice',
    description: 'What is to be reached, in a sentence.',
  })
  const { goal_id } = made.body as { goal_id: number } // seen to be so by what follows
  const { approval_id } = await propose(
    coordinator,
    goal_id,
    node('once', { children: [node('leaf')] }),
  )
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => decide(owner, approval_id, 'approve')),
  )
  t.equal(answers.filter(({ status }) => status === 200).length, 1)
  t.ok(
    answers
      .filter(({ status }) => status !== 200)
      .every(({ body }) => JSON.stringify(body).includes('ErrAlreadyDecided')),
    'the others find it decided',
  )
  t.equal((await settled(owner, approval_id)).status, 'executed')
  t.equal((await owner.call(getGoal, { goal_id })).tasks_tree.length, 2)
})

t.test('S20 a lease that lapsed is taken over, and the late submit is refused', async (t) => {
  const { goal, tasks } = await plannedGoal(owner, coordinator, node('slow'))
  const { task_id } = taskNamed(tasks, 'slow')
  const { lease_token } = await one.call(claimTask, { task_id, lease_ttl_seconds: 1 })
  const taken = await waitFor(
    async () => {
      const result = await two.tool('claim_task', { task_id })
      return result.isError === true ? undefined : claimTask.output.parse(result.structuredContent)
    },
    { what: 'the lease to lapse' },
  )
  t.ok(taken.fence > 1)
  const late = await one.refused('submit_task', { task_id, lease_token, summary: 'late' })
  t.equal(late.code, 'conflict')
  const { lease_token: own } = taken
  t.match(await two.call(submitTask, { task_id, lease_token: own, summary: 'in time' }), {
    status: 'done',
  })
  const ended = taskNamed(await tasksOf(owner, goal.goal_id), 'slow')
  t.match(ended, { result_summary: 'in time', assignee_agent_id: two.endpoint.agent_id })
  const lapsed = await waitFor(
    async () => {
      const { domains } = await owner.call(getReputation, { agent_id: one.endpoint.agent_id })
      return domains[0]
    },
    { what: 'the evidence of the lapse' },
  )
  t.ok(lapsed.rolling_score < 0.5, 'which counts against who let it lapse')
})

t.test('S27 reports that cross 80 % and 100 % at the same time are told once', async (t) => {
  const titles = ['a', 'b', 'c', 'd'].map((letter) => `cost-${letter}`)
  const tree = node('costs', { children: titles.map((title) => node(title)) })
  const { goal, tasks } = await plannedGoal(owner, coordinator, tree, {
    budget_dollars_cents: 100,
  })
  const held = await Promise.all(
    titles.map(async (title, i) => {
      const agent = racers[i] as Vended // there are more racers than titles
      const { task_id } = taskNamed(tasks, title)
      const { lease_token } = await agent.call(claimTask, { task_id })
      return { agent, task_id, lease_token }
    }),
  )
  await Promise.all(
    held.map(({ agent, task_id, lease_token }) =>
      agent.call(submitTask, { task_id, lease_token, usage: { cost_minor: 45 } }),
    ),
  )
  const { goal: after } = await owner.call(getGoal, { goal_id: goal.goal_id })
  t.match(after, { status: 'paused', spent_dollars_cents: 180, held_dollars_cents: 0 })
  const channel = `goal-${goal.slug}`
  await messagesThatSay(owner, channel, /paused/)
  const told = await messagesThatSay(owner, channel, /^80 % of the budget/)
  t.equal(told.length, 1, 'the second report crosses 80 %, and is told of once')
  const paused = (await messagesIn(owner, channel)).filter(({ body }) => /was paused/.test(body))
  t.equal(paused.length, 1, 'so is the pause')
})

t.test(
  'S31 a quarantine stops claims at both replicas, and what is held is taken in',
  async (t) => {
    const { agent_id } = reviewer.endpoint
    const verifier_config = { kind: 'peer', agent_id } as const
    const rejects = ['poor-1', 'poor-2', 'poor-3', 'poor-4']
    const tree = node('quality', {
      children: [
        ...rejects.map((title) => node(title, { billing_code: 'ops', verifier_config })),
        node('held', { billing_code: 'ops' }),
        node('free', { billing_code: 'ops' }),
      ],
    })
    const { tasks } = await plannedGoal(owner, coordinator, tree)
    const id = (title: string) => taskNamed(tasks, title).task_id
    const held = await three.call(claimTask, { task_id: id('held') })
    // All are claimed before the first verdict: what is held is judged, quarantine or not.
    for (const title of rejects) await three.call(claimTask, { task_id: id(title) })
    for (const title of rejects) {
      await three.call(submitTask, { task_id: id(title) })
      const verdict = { task_id: id(title), verdict: 'reject', reason: 'flag list empty' } as const
      t.match(await reviewer.call(verifyTask, verdict), { new_status: 'failed' })
    }
    // Of a task that is over, which nobody can claim: so asking changes nothing before it is in force.
    const isStopped = async () => (await errorOf(three, id('poor-1'))) === 'ErrAgentQuarantined'
    await waitFor(isStopped, {
      what: 'the quarantine to be in force',
      timeout_ms: QUARANTINE_REACHES_MS,
    })
    const before = answered('claim_task')
    const elsewhere = { ...three, ...(await ableAgent(owner, 'racer-2', system.mcp_urls[1])) }
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, i) => errorOf(i % 2 === 0 ? three : elsewhere, id('free'))),
    )
    t.strictSame(new Set(outcomes), new Set(['ErrAgentQuarantined']))
    const after = answered('claim_task')
    t.ok(
      after.every((calls, i) => calls > (before[i] ?? 0)),
      'both replicas were asked',
    )
    await messagesThatSay(owner, 'inbox', /Quarantined: racer-2/)

    const handed_in = { task_id: id('held'), lease_token: held.lease_token }
    t.match(await three.call(submitTask, handed_in), { status: 'done' }, 'the work it had counts')
    t.equal((await three.refused('unquarantine_agent', { agent_id })).code, 'forbidden')
    const agent = { agent_id: three.endpoint.agent_id }
    const scores = () => owner.call(getReputation, { ...agent, domain: 'ops' })
    const count = rejects.length + 1
    await waitFor(async () => (await scores()).evidence_count === count, { what: 'all evidence' })
    const { rolling_score } = await scores()
    t.match(await owner.call(unquarantineAgent, agent), { status: 'active' })
    const lifted = await scores()
    t.ok(Math.abs(lifted.rolling_score - rolling_score) < 0.001, 'the score stays')
    t.equal(lifted.quarantined, false)
    const { lease_token } = await three.call(claimTask, { task_id: id('free') })
    t.ok(lease_token, 'and it may work again')
    await three.call(release, { id: taskItemId(id('free')), lease_token })
    const dm = `dm-${coordinator.endpoint.agent_id}`
    const [message] = await messagesThatSay(owner, dm, /flag list empty/)
    t.match(message?.metadata, { task_id: Number }, 'S22 the coordinator is told why')
  },
)

t.test('S32 S41 no judgement without evidence, no entry without a credential', async (t) => {
  const { agent_id } = await owner.call(createAgent, { name: 'newcomer' })
  t.match(await owner.call(getReputation, { agent_id }), {
    rolling_score: 0.5,
    evidence_count: 0,
    quarantined: false,
  })
  for (const url of system.mcp_urls) {
    const answer = await postRpc(url, undefined, 'tools/list')
    t.equal(answer.status, 401)
    t.match(answer.headers.get('www-authenticate'), /^Bearer/)
  }
})
