import { randomBytes } from 'node:crypto'
import {
  cancelGoal,
  claimCredential,
  claimTask,
  completeGoal,
  createGoal,
  deactivateAgent,
  decideApproval,
  getApproval,
  getGoal,
  getReputation,
  grantableTools,
  proposeAgent,
  proposeTaskTree,
  react,
  readChannel,
  resumeGoal,
  revokeEndpoint,
  submitTask,
  vendEndpoint,
  verifyTask,
} from '@guildhall/contracts'
import { waitFor } from '@guildhall/testing'
import { type Agent, agentAt } from './agent.ts'
import { expect } from './demo-stopped.ts'
import type { RunningSystem } from './dev-file.ts'
import { type Owner, ownerAt } from './owner.ts'
import { request } from './request.ts'
import type { Terminal } from './terminal.ts'

/** The second chapter: a goal, its plan, a new agent, verdicts, money, and what is earned by them. */

interface Stage {
  readonly say: Terminal
  readonly system: RunningSystem
  readonly owner: Owner
  readonly made: (() => Promise<unknown>)[]
  /** Tells names apart from those of the run before. */
  readonly suffix: string
}

interface Member {
  readonly agent: Agent
  readonly agent_id: number
}

interface Cast extends Stage {
  readonly goal_id: number
  readonly coordinator: Member
  readonly reviewer: Member
}

const BUDGET_CENTS = 100
const LARGER_BUDGET_CENTS = 200
const SENTENCE = 'Find what the documents say wrongly, and mend it.'

const vend = async ({ owner, system, made }: Stage, name: string): Promise<Member> => {
  const { endpoint, token } = await owner.call(vendEndpoint, {
    agent: { name },
    name: 'make demo',
    queues: ['demo'],
    tools: [...grantableTools],
  })
  const { endpoint_id, agent_id } = endpoint
  made.push(() => owner.call(revokeEndpoint, { endpoint_id }))
  return { agent: agentAt(system.mcp_url, token), agent_id }
}

/** Once it is carried out: the answer to a decision comes before that. */
const executed = async ({ owner }: Stage, approval_id: number): Promise<void> => {
  const { status, failure } = await waitFor(
    async () => {
      const approval = await owner.call(getApproval, { approval_id })
      return approval.status !== 'approved' && approval
    },
    { what: `approval ${approval_id} to be carried out` },
  )
  expect(status === 'executed', `approval ${approval_id} to be executed`, { status, failure })
}

const begin = async (stage: Stage): Promise<Cast> => {
  const { say, owner, made, suffix } = stage
  say.step('The owner states a goal')
  say.asked('POST /api/goals', `{title: "Keep the docs accurate", budget: ${BUDGET_CENTS} cents}`)
  const goal = await owner.call(createGoal, {
    title: 'Keep the docs accurate',
    description: SENTENCE,
    budget_dollars_cents: BUDGET_CENTS,
  })
  const { goal_id, coordinator_agent_id } = goal
  const end = async (): Promise<void> => {
    const { goal: now } = await owner.call(getGoal, { goal_id })
    if (now.status !== 'completed') await owner.call(cancelGoal, { goal_id })
  }
  made.push(end)
  const coordinator = await vend(stage, 'coordinator')
  const reviewer = await vend(stage, `demo-reviewer-${suffix}`)
  made.push(() => owner.call(deactivateAgent, { agent_id: reviewer.agent_id }))
  expect(coordinator.agent_id === coordinator_agent_id, 'the coordinator of the goal', goal)
  say.answered(goal.status, `goal-${goal.slug}  coordinator: agent ${coordinator_agent_id}`)
  say.meaning('A draft spends nothing. Its coordinator plans, and can start nothing by itself.')
  return { ...stage, goal_id, coordinator, reviewer }
}

const plan = async (cast: Cast): Promise<Map<string, number>> => {
  const { say, owner, goal_id, coordinator, reviewer } = cast
  const { agent_id } = reviewer
  const task = (title: string, more: object = {}) => ({ title, description: SENTENCE, ...more })
  say.step('The coordinator proposes a tree of tasks, and the owner approves it')
  say.asked('propose_task_tree', 'Mend the docs [Read, Write, Publish, Tell the readers]')
  const { approval_id } = await coordinator.agent.call(proposeTaskTree, {
    goal_id,
    tree: task('Mend the docs', {
      children: [
        task('Read the pages', { billing_code: 'docs.read' }),
        task('Write the changes', {
          billing_code: 'docs.write',
          verifier_config: { kind: 'peer', agent_id },
        }),
        task('Publish', { billing_code: 'docs.write' }),
        task('Tell the readers', { billing_code: 'docs.tell' }),
      ],
    }),
  })
  const before = await owner.call(getGoal, { goal_id })
  expect(before.tasks_tree.length === 0, 'no task before the decision', before.tasks_tree)
  say.answered('pending', 'a message in #approvals; tasks so far: 0')
  const { digest } = await owner.call(getApproval, { approval_id })
  say.asked(`POST /api/approvals/${approval_id}/approve`, `{digest: "${digest.slice(0, 12)}…"}`)
  await owner.call(decideApproval, { approval_id, decision: 'approve', digest })
  await executed(cast, approval_id)
  const { goal, tasks_tree } = await owner.call(getGoal, { goal_id })
  expect(tasks_tree.length === 5 && goal.status === 'active', 'five tasks', tasks_tree)
  say.answered(goal.status, `${tasks_tree.length} tasks`)
  say.meaning('The owner approves exactly what was shown: with another digest it would be refused.')
  return new Map(tasks_tree.map(({ title, task_id }) => [title, task_id]))
}

const spawn = async (cast: Cast, parent_task_id: number): Promise<Member> => {
  const { say, system, owner, made, suffix, goal_id, coordinator } = cast
  const name = `docs-scanner-${suffix}`
  say.step('It proposes a specialist; a reaction of the owner approves it')
  say.asked('propose_agent', `{name: "${name}", tool_scope: ["read_channel"], …}`)
  const { proposal_id, approval_message_id } = await coordinator.agent.call(proposeAgent, {
    goal_id,
    parent_task_id,
    name,
    model: 'a-small-model',
    system_prompt: 'You read documents and list what is wrong.',
    tool_scope: ['read_channel'],
    autonomy_tier: 'assisted',
    reason: 'There are many pages to read.',
  })
  const by_itself = { message_id: approval_message_id, reaction: 'approve' } as const
  const refused = await coordinator.agent.refused(react, by_itself)
  expect(refused.code === 'forbidden', 'an agent to decide nothing', refused)
  say.refused(refused.code, 'the coordinator approves its own proposal')
  say.asked(`POST /api/messages/${approval_message_id}/reactions`, '{reaction: "approve"}')
  await owner.call(react, by_itself)
  await executed(cast, proposal_id)
  const channel = `dm-${coordinator.agent_id}`
  const { messages } = await coordinator.agent.call(readChannel, { channel })
  const told = messages.map(({ body }) => /"claim_token": "([^"]+)"/.exec(body)?.[1])
  const body = JSON.stringify({ claim_token: told.find((token) => token !== undefined) })
  const answer = await request('POST', `${system.api_url}/credentials/claim`, {}, body)
  expect(answer.status === 200, 'the credential of the new agent', answer)
  const { agent_id, token } = claimCredential.output.parse(answer.body)
  made.push(() => owner.call(deactivateAgent, { agent_id }))
  say.answered('200', `agent ${agent_id}, by a claim token that works once`)
  say.meaning('It has no more than its proposer has, and no credential lies in any message.')
  return { agent: agentAt(system.mcp_url, token), agent_id }
}

const works = async ({ say }: Cast, { agent }: Member, task_id: number, cost_minor: number) => {
  say.asked('claim_task, submit_task', `{task_id: ${task_id}, usage: {cost_minor: ${cost_minor}}}`)
  const { lease_token } = await agent.call(claimTask, { task_id })
  const usage = { tokens: 1_500, cost_minor }
  const summary = 'done, see the report'
  const done = await agent.call(submitTask, { task_id, lease_token, summary, usage })
  say.answered(done.status, `verifier: ${done.verifier}  goal: ${done.goal_status}`)
  return done
}

const workIsVerified = async (cast: Cast, scanner: Member, tasks: Map<string, number>) => {
  const { say, reviewer } = cast
  const task = (title: string): number => tasks.get(title) ?? 0
  say.step('The new agent works, and another one judges it')
  await works(cast, scanner, task('Read the pages'), 40)
  const handed_in = await works(cast, scanner, task('Write the changes'), 45)
  expect(handed_in.status === 'awaiting_verification', 'a task that waits', handed_in)
  const own = { task_id: handed_in.task_id, verdict: 'approve' } as const
  const refused = await scanner.agent.refused(verifyTask, own)
  say.refused(refused.code, 'nobody judges their own work')
  say.asked('verify_task', '{verdict: "approve"}, by the reviewer')
  const { new_status } = await reviewer.agent.call(verifyTask, own)
  say.answered(new_status, 'Write the changes')
  say.meaning('A task is done when its verifier says so: at once, by a peer, or by a command.')
}

const moneyRunsOut = async (cast: Cast, scanner: Member, tasks: Map<string, number>) => {
  const { say, owner, goal_id } = cast
  const task_id = tasks.get('Publish') ?? 0
  say.step('The budget runs out, and the goal pauses by itself')
  const { goal } = await owner.call(getGoal, { goal_id })
  say.happened(`${goal.spent_dollars_cents} of ${BUDGET_CENTS} cents: told at 80 %, once`)
  const done = await works(cast, scanner, task_id, 20)
  expect(done.goal_status === 'paused', 'the goal to be paused', done)
  const last = tasks.get('Tell the readers') ?? 0
  const refused = await scanner.agent.refused(claimTask, { task_id: last })
  expect(refused.code === 'budget_exceeded', 'no claim on a paused goal', refused)
  say.refused(refused.code, 'claim_task of the last task')
  say.asked(`POST /api/goals/${goal_id}/resume`, `{new_budget: ${LARGER_BUDGET_CENTS} cents}`)
  const resumed = await owner.call(resumeGoal, {
    goal_id,
    new_budget_dollars_cents: LARGER_BUDGET_CENTS,
  })
  say.answered(resumed.status, 'only the owner can')
  await works(cast, scanner, last, 5)
  say.meaning('The pause is in the transaction that records the cost; agents cannot undo it.')
}

const closing = async (cast: Cast, scanner: Member): Promise<void> => {
  const { say, owner, goal_id, coordinator } = cast
  const { agent_id } = scanner
  say.step('What is earned by it')
  say.asked(`GET /api/agents/${agent_id}/reputation`)
  const standing = await waitFor(
    async () => {
      const answer = await owner.call(getReputation, { agent_id })
      const docs = answer.domains.find(({ domain }) => domain === 'docs')
      return docs !== undefined && docs.evidence_count >= 5 && answer
    },
    { what: 'the evidence of four tasks' },
  )
  say.answered('200', standing.quarantined ? 'quarantined' : 'in good standing')
  say.table(
    ['domain', 'score', 'evidence'],
    standing.domains.map(({ domain, rolling_score, evidence_count }) => [
      domain,
      rolling_score.toFixed(2),
      `${evidence_count}`,
    ]),
  )
  say.meaning('It began at 70 % of its parent. Only verified work moves it; too low, and it stops.')
  say.step('The coordinator ends the goal')
  const { status } = await coordinator.agent.call(completeGoal, {
    goal_id,
    summary: 'All is right.',
  })
  const { tasks_tree, cost_breakdown } = await owner.call(getGoal, { goal_id })
  say.answered(status, `${cost_breakdown.total.dollars_cents} cents, by billing code:`)
  say.table(
    ['code', 'cents'],
    cost_breakdown.by_billing_code.map(({ billing_code, dollars_cents }) => [
      billing_code || '(none)',
      `${dollars_cents}`,
    ]),
  )
  const done = tasks_tree.filter((task) => task.status === 'done').length
  say.meaning(`${done} tasks done, and the audit log says who approved what.`)
}

export const tellGoalStory = async (
  say: Terminal,
  system: RunningSystem,
  made: Stage['made'],
): Promise<void> => {
  const owner = ownerAt(system.api_url, system.api_token)
  const suffix = randomBytes(3).toString('hex')
  const cast = await begin({ say, system, owner, made, suffix })
  const tasks = await plan(cast)
  const scanner = await spawn(cast, tasks.get('Read the pages') ?? 0)
  await workIsVerified(cast, scanner, tasks)
  await moneyRunsOut(cast, scanner, tasks)
  await closing(cast, scanner)
}
