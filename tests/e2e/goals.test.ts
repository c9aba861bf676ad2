import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  claimTask,
  completeGoal,
  createGoal,
  getGoal,
  getReputation,
  listApprovals,
  listAudit,
  listResources,
  listTasks,
  proposeAgent,
  requestResource,
  resumeGoal,
  setSecret,
  setSettings,
  submitTask,
  type Task,
  verifyTask,
} from '@guildhall/contracts'
import { temporaryDirectory, waitFor } from '@guildhall/testing'
import t from 'tap'
import type { Agent } from './support/agent.ts'
import {
  ableAgent,
  agentOfClaim,
  claimCredentialAt,
  decide,
  messagesIn,
  messagesThatSay,
  node,
  propose,
  settled,
  taskNamed,
  tasksOf,
} from './support/goals.ts'
import { firstOwner } from './support/owner.ts'
import { runningSystem } from './support/running-system.ts'

/** Scenario 42, scripted: a gardener of documents from the goal to its end, over HTTP alone. */

const VERIFIER_ROOT = temporaryDirectory('e2e-verifier')
const system = await runningSystem(t, { env: { verifier: { VERIFIER_ROOT } } })
const owner = firstOwner(system)
const [api_url = ''] = system.api_urls
const VALUE = 'xkeysib-4f1c9d0e77-of-the-mail-service'

const coordinator = await ableAgent(owner, 'coordinator')
const reviewer = await ableAgent(owner, 'reviewer')

const created = await owner.call(createGoal, {
  title: 'Keep docs.mcpproxy.app accurate',
  description: 'Find what the documents say wrongly, and mend it.',
  budget_dollars_cents: 100,
})
const { goal_id } = created

const shown = () => owner.call(getGoal, { goal_id })
const task = async (title: string): Promise<Task> => taskNamed(await tasksOf(owner, goal_id), title)

const works = async (agent: Agent, title: string, cost_minor: number, tokens = 1_200) => {
  const { task_id } = await task(title)
  const { lease_token } = await agent.call(claimTask, { task_id })
  return await agent.call(submitTask, {
    task_id,
    lease_token,
    summary: `${title}: done`,
    artifact: 'https://example.com/report',
    usage: { tokens, cost_minor },
  })
}

const endsAs = (title: string, status: Task['status']): Promise<Task> =>
  waitFor(
    async () => {
      const found = await task(title)
      return found.status === status && found
    },
    { what: `${title} to be ${status}` },
  )

t.test('S1 an owner creates a goal', async (t) => {
  t.match(created, { slug: 'keep-docs-mcpproxy-app-accurate', status: 'draft' })
  t.equal(created.coordinator_agent_id, coordinator.endpoint.agent_id)
  t.equal(created.channel_id, goal_id * 2)
  const { goal, tasks_tree, spawned_agents } = await shown()
  t.match(goal, { title: 'Keep docs.mcpproxy.app accurate', budget_dollars_cents: 100 })
  t.strictSame(tasks_tree, [])
  t.match(spawned_agents, [{ name: 'coordinator', spawn_depth: 0 }])
  t.type(await messagesIn(owner, `goal-${created.slug}`), Array, 'its channel is there')
})

t.test('S5 a tree is proposed, approved over REST, and becomes four tasks', async (t) => {
  const { agent_id } = reviewer.endpoint
  const tree = node('root', {
    acceptance_criteria: 'all pages are right',
    children: [
      node('child-1', { children: [node('grandchild', { billing_code: 'docs.scan' })] }),
      node('child-2', {
        billing_code: 'docs.write',
        verifier_config: { kind: 'peer', agent_id },
      }),
    ],
  })
  const proposal = await propose(coordinator, goal_id, tree)
  t.equal((await shown()).tasks_tree.length, 0, 'nothing exists before the decision')
  const [message] = await messagesIn(owner, 'approvals')
  t.match(message, {
    message_id: proposal.proposal_message_id,
    kind: 'task_proposal',
    approval_id: proposal.approval_id,
    state: 'proposed',
  })
  const waiting = await owner.call(listApprovals, { status: 'pending' })
  t.match(waiting, { waiting_on_you: 1, approvals: [{ approval_id: proposal.approval_id }] })

  const answer = await decide(owner, proposal.approval_id, 'approve')
  t.match(answer, { status: 200, body: { decided_by_user_id: system.owner.user_id } })
  const { status, effect } = await settled(owner, proposal.approval_id)
  t.equal(status, 'executed')
  const { goal, tasks_tree } = await shown()
  t.equal(goal.status, 'active')
  t.strictSame(
    tasks_tree.map(({ title, depth, is_leaf, status }) => [title, depth, is_leaf, status]),
    [
      ['root', 0, false, 'approved'],
      ['child-1', 1, false, 'approved'],
      ['grandchild', 2, true, 'approved'],
      ['child-2', 1, true, 'approved'],
    ],
  )
  t.strictSame(
    new Set(effect?.task_ids as number[]),
    new Set(tasks_tree.map(({ task_id }) => task_id)),
  )
  const ancestry = tasks_tree[2]?.ancestry.map(({ title }) => title)
  t.strictSame(ancestry, ['root', 'child-1'])
  t.match(tasks_tree[2]?.ancestry[0], { acceptance_criteria: 'all pages are right' })
})

let scanner: Agent & { readonly agent_id: number }

t.test(
  'S10 S11 a reaction approves a new agent, and a claim token is its credential',
  async (t) => {
    const proposed = await coordinator.call(proposeAgent, {
      goal_id,
      parent_task_id: (await task('child-1')).task_id,
      name: 'docs-scanner',
      model: 'gemini-2.5-flash',
      system_prompt: 'You read documents and list what is wrong.',
      tool_scope: ['messages:read', 'messages:send', 'channels:read'],
      autonomy_tier: 'assisted',
      reason: 'There are many pages to read.',
    })
    const react = (id: number) =>
      owner.rest('POST', `/messages/${id}/reactions`, { reaction: 'approve' })
    t.match(
      await coordinator.refused('react', {
        message_id: proposed.approval_message_id,
        reaction: 'approve',
      }),
      { code: /forbidden|not_found/ },
      'S9 an agent decides nothing',
    )
    t.match(await react(proposed.approval_message_id), {
      status: 200,
      body: { action: 'added', workflow_state: 'approved' },
    })
    const { status } = await settled(owner, proposed.proposal_id)
    t.equal(status, 'executed')

    const dm = `dm-${coordinator.endpoint.agent_id}`
    const [message] = await messagesThatSay(owner, dm, /claim_token/)
    const claim_token = /"claim_token": "([^"]+)"/.exec(message?.body ?? '')?.[1] ?? ''
    scanner = await agentOfClaim(api_url, claim_token)
    t.match(await claimCredentialAt(api_url, claim_token), { status: 401 }, 'which works once')
    const { spawned_agents } = await shown()
    t.equal(spawned_agents.length, 1, 'it is on the goal once it has a task')

    const standing = await owner.call(getReputation, { agent_id: scanner.agent_id })
    t.match(standing, { rolling_score: 0.35, evidence_count: 1, quarantined: false })
  },
)

t.test('S35 it asks for a resource, and the owner gives it for that task', async (t) => {
  const { tasks } = await scanner.call(listTasks, { claimable: true })
  t.ok(tasks.some(({ title }) => title === 'grandchild'))
  const { task_id } = await task('grandchild')
  const { lease_token, ancestry } = await scanner.call(claimTask, { task_id })
  t.equal(ancestry.length, 2)
  const { request_id } = await scanner.call(requestResource, {
    name: 'BREVO_API_KEY',
    resource_type: 'api_key',
    reason: 'to send the report',
    task_id,
  })
  const before = await scanner.call(listResources, { task_id })
  t.match(before.resources, [{ name: 'BREVO_API_KEY', available: false }])
  await owner.call(setSecret, {
    scope_type: 'task',
    scope_id: task_id,
    name: 'BREVO_API_KEY',
    value: VALUE,
  })
  const after = await scanner.call(listResources, { task_id })
  t.strictSame(after.resources, [{ name: 'BREVO_API_KEY', scope: 'task', available: true }])
  const fulfilled = await waitFor(
    async () => {
      const { status } = await settled(owner, request_id)
      return status === 'executed' && status
    },
    { what: 'the request to be fulfilled' },
  )
  t.equal(fulfilled, 'executed')
  t.equal((await messagesThatSay(owner, `dm-${scanner.agent_id}`, /available/)).length, 1)

  const answer = await scanner.call(submitTask, {
    task_id,
    lease_token,
    summary: 'twelve pages read',
    usage: { tokens: 1_200, cost_minor: 40 },
  })
  t.match(answer, { status: 'done', verifier: 'auto', goal_status: 'active' }, 'S21 done at once')
})

t.test('S22 a peer gives the verdict on a task', async (t) => {
  t.match(await works(scanner, 'child-2', 45), { status: 'awaiting_verification' })
  const { task_id } = await task('child-2')
  t.match(await coordinator.refused('verify_task', { task_id, verdict: 'approve' }), {
    details: { error: 'ErrNotPermittedVerifier' },
  })
  await messagesThatSay(owner, `dm-${reviewer.endpoint.agent_id}`, /child-2/)
  const verdict = { task_id, verdict: 'approve' } as const
  t.match(await reviewer.call(verifyTask, verdict), { new_status: 'done' })
  t.match(await reviewer.refused('verify_task', verdict), {
    details: { error: 'ErrTaskNotAwaitingVerification' },
  })
  const root = await endsAs('root', 'done')
  t.ok(root.completed_at, 'a parent is done when its subtasks are')
})

t.test('S23 a command gives the verdict, once the owner has enabled that', async (t) => {
  const cmd = 'test -s report.txt'
  const tree = node('report', {
    children: ['present', 'absent'].map((title) =>
      node(title, {
        billing_code: 'docs.write',
        verifier_config: { kind: 'command', cmd, cwd: title },
      }),
    ),
  })
  const { approval_id } = await propose(coordinator, goal_id, tree)
  const disabled = await decide(owner, approval_id, 'approve')
  t.match(disabled.body, { details: { error: 'ErrCommandVerifierDisabled' } })
  t.equal((await shown()).tasks_tree.length, 4, 'nothing came of it')
  await owner.call(setSettings, { command_verifiers_enabled: true })
  t.match(await decide(owner, approval_id, 'approve'), { status: 200 })
  t.equal((await settled(owner, approval_id)).status, 'executed')

  const folder = join(VERIFIER_ROOT, `${system.owner.user_id}`, `${goal_id}`, 'present')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'report.txt'), 'all is well')
  await works(scanner, 'present', 0)
  await endsAs('present', 'done')
  await works(scanner, 'absent', 0)
  t.match(await endsAs('absent', 'failed'), { failure_reason: /1/ })
  await endsAs('report', 'failed')
})

t.test('S27 S28 money: one notice at 80 %, a pause at 100 %, and a resume', async (t) => {
  const channel = `goal-${created.slug}`
  t.equal((await messagesThatSay(owner, channel, /80/)).length, 1, 'told once at 85 of 100')
  t.match((await shown()).goal, { alert_80pct_posted: true, spent_dollars_cents: 85 })
  const tree = node('more', { children: [node('third'), node('fourth')] })
  const { approval_id } = await propose(coordinator, goal_id, tree)
  await decide(owner, approval_id, 'approve')
  t.equal((await settled(owner, approval_id)).status, 'executed')
  t.match(await works(scanner, 'third', 20), { status: 'done', goal_status: 'paused' })
  const { task_id } = await task('fourth')
  t.match(await scanner.refused('claim_task', { task_id }), {
    details: { error: 'ErrGoalBudgetExceeded' },
  })
  await messagesThatSay(owner, 'inbox', /budget/i)
  t.match(await owner.rest('POST', `/goals/${goal_id}/resume`, {}), { status: 409 })
  const resumed = await owner.call(resumeGoal, { goal_id, new_budget_dollars_cents: 200 })
  t.equal(resumed.status, 'active')
  t.match(await works(scanner, 'fourth', 5), { status: 'done' })
  t.equal((await messagesThatSay(owner, channel, /80/)).length, 1, 'and no second notice')
})

t.test('what is left: the goal whole, its cost, reputation and the audit log', async (t) => {
  const done = await coordinator.call(completeGoal, {
    goal_id,
    summary: 'The documents are right.',
  })
  t.equal(done.status, 'completed')
  const { goal, tasks_tree, spawned_agents, cost_breakdown, recent_events } = await waitFor(
    async () => {
      const whole = await shown()
      return whole.recent_events.length >= 10 && whole
    },
    { what: 'ten events of the goal' },
  )
  t.match(goal, { status: 'completed', completion_summary: 'The documents are right.' })
  t.equal(tasks_tree.length, 10)
  t.match(cost_breakdown, {
    total: { dollars_cents: 110, task_count: 10 },
    percent_of_budget: 55,
  })
  const by_code = new Map(
    cost_breakdown.by_billing_code.map(({ billing_code, dollars_cents }) => [
      billing_code,
      dollars_cents,
    ]),
  )
  t.strictSame(Object.fromEntries(by_code), { '': 25, 'docs.scan': 40, 'docs.write': 45 })
  t.strictSame(spawned_agents.map(({ name }) => name).sort(), ['coordinator', 'docs-scanner'])
  t.match(
    spawned_agents.find(({ name }) => name === 'docs-scanner'),
    {
      config_hash: /^[0-9a-f]{64}$/,
      spawn_depth: 1,
      parent_agent_name: 'coordinator',
    },
  )
  t.ok(recent_events.every(({ from, body }) => from !== '' && body !== ''))

  const listed = await owner.rest('GET', '/goals')
  t.match(listed.body, [
    {
      id: goal_id,
      slug: created.slug,
      status: 'completed',
      cost_totals: { dollars_cents: 110 },
      task_count: 10,
    },
  ])
  const { agent_id } = scanner
  const standing = await waitFor(
    async () => {
      const answer = await owner.call(getReputation, { agent_id, domain: 'docs' })
      return answer.evidence_count >= 4 && answer
    },
    { what: 'the evidence of four tasks' },
  )
  t.match(standing, { domain: 'docs', quarantined: false })
  t.ok(standing.domains.some(({ domain }) => domain === 'default'))

  const { entries } = await owner.call(listAudit, { limit: 200 })
  const done_by = new Set(entries.map(({ actor, action }) => `${actor} ${action}`))
  const human = `human:${system.owner.user_id}`
  for (const expected of [
    `agent:${coordinator.endpoint.agent_id} approval.requested`,
    `${human} approval.approved`,
    `${human} agent.spawned`,
    `${human} decide_approval.refused`,
    `agent:${coordinator.endpoint.agent_id} react.refused`,
    `agent:${agent_id} credential_claim.used`,
  ]) {
    t.ok(done_by.has(expected), `${expected} is in the audit log: ${[...done_by].join(', ')}`)
  }
  t.match(await owner.call(listApprovals, {}), { waiting_on_you: 0 })
})
