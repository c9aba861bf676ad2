import { createKv } from '@guildhall/bus'
import {
  type AgentPrincipal,
  AgentRecord,
  agentChanged,
  agentKey,
  buckets,
  decideApproval,
  editAgent,
  getAgent,
  getApproval,
  type InputOf,
  listAgents,
  proposeAgent,
} from '@guildhall/contracts'
import t, { type Test } from 'tap'
import { configHash } from '../src/config-hash.ts'
import { type GoalWorld, goalWorld, named, newAgent, putGoal, putTask } from './goal-world.ts'
import { newUser, refusal } from './setup.ts'

type Proposal = InputOf<typeof proposeAgent>

const scanner = (w: GoalWorld, changes: Partial<Proposal> = {}): Proposal => ({
  goal_id: w.goal.goal_id,
  parent_task_id: w.task.task_id,
  name: 'docs-scanner',
  model: 'gemini-2.5-flash',
  system_prompt: 'You scan documentation for drift.',
  tool_scope: ['messages:read', 'messages:send', 'channels:read'],
  autonomy_tier: 'assisted',
  reason: 'somebody has to read them',
  ...changes,
})

const propose = (
  w: GoalWorld,
  changes: Partial<Proposal> = {},
  principal: AgentPrincipal = w.coordinator,
) => w.call(proposeAgent, scanner(w, changes), { principal })

const decide = (w: GoalWorld, approval_id: number, decision: 'approve' | 'reject' = 'approve') =>
  w.call(
    decideApproval,
    { approval_id, decision, ...(decision === 'reject' ? { reason: 'not now' } : {}) },
    { principal: w.s.ann },
  )

const show = (w: GoalWorld, approval_id: number) =>
  w.call(getApproval, { approval_id }, { principal: w.s.ann })

const dm = async (w: GoalWorld) => (await w.messages(`dm-${w.coordinator.agent_id}`))[0]?.body ?? ''

const nothingMade = async (t: Test, w: GoalWorld, agents: number) => {
  t.equal(await w.count('approvals'), 0)
  t.equal(await w.count('messages'), 0)
  t.equal(await w.count('agents'), agents)
}

t.test(
  'scenario 10: proposed, then approved: the agent is there, with a claim for its proposer',
  async (t) => {
    const w = await goalWorld(t)
    const { proposal_id, approval_message_id } = await propose(w)
    const agents = await w.count('agents')
    t.match((await w.messages('approvals'))[0], {
      message_id: approval_message_id,
      kind: 'agent_proposal',
      approval_id: proposal_id,
    })
    const decided = await decide(w, proposal_id)
    const effect = (await show(w, proposal_id)).effect ?? {}
    const agent = await w.call(
      getAgent,
      { agent_id: Number(effect.agent_id) },
      { principal: w.s.ann },
    )
    const config = scanner(w)
    const config_hash = configHash({ ...config, skills: [], mcp_servers: [], subagents: [] })
    const parent = await w.call(
      getAgent,
      { agent_id: w.coordinator.agent_id },
      { principal: w.s.ann },
    )

    t.equal(decided.status, 'executed')
    t.equal(await w.count('agents'), agents + 1)
    t.match(agent, {
      name: 'docs-scanner',
      status: 'active',
      spawn_depth: 1,
      parent_agent_id: w.coordinator.agent_id,
      goal_id: w.goal.goal_id,
      parent_task_id: w.task.task_id,
      autonomy_tier: 'assisted',
      config_hash,
      system_prompt: config.system_prompt,
      tool_scope: config.tool_scope,
    })
    t.equal(effect.config_hash, config_hash)
    const told = await w.events(agentChanged)
    t.match(
      told.filter(({ change }) => change === 'spawned'),
      [
        {
          agent: { name: 'docs-scanner' },
          seed: { from_config_hash: parent.config_hash, domain: 'docs' },
        },
      ],
    )
    const record = await createKv(w.bus, buckets.agents, AgentRecord).get(
      agentKey(w.s.ann.user_id, agent.agent_id),
    )
    t.match(record?.value, { name: 'docs-scanner', parent_agent_name: 'planner', version: 1 })
    const body = await dm(w)
    t.match(body, /can be claimed once/)
    t.match(body, /POST http:\/\/127\.0\.0\.1:8080\/api\/credentials\/claim with/)
    t.notMatch(body, /agt_/, 'no key is ever in a message')
  },
)

t.test(
  'scenario 12 to 15: too much is refused before anything is written, all of it at once',
  async (t) => {
    const w = await goalWorld(t)
    const agents = await w.count('agents')
    const wrong = {
      tool_scope: ['messages:read', 'attachments:write'],
      autonomy_tier: 'autonomous' as const,
    }
    const refused = await refusal(propose(w, wrong))
    t.match(refused, {
      code: 'forbidden',
      details: {
        error: 'ErrDelegationCapExceeded',
        violations: [
          { field: 'autonomy_tier' },
          { field: 'tool_scope', problem: /attachments:write/ },
        ],
      },
    })
    await nothingMade(t, w, agents)
  },
)

t.test('scenario 14: an agent at the greatest depth spawns nobody', async (t) => {
  const w = await goalWorld(t, { max_spawn_depth: 1 })
  const { proposal_id } = await propose(w)
  await decide(w, proposal_id)
  const { agents } = await w.call(listAgents, { limit: 50 }, { principal: w.s.ann })
  const child = agents.find(({ name }) => name === 'docs-scanner')
  const { endpoint } = await w.vendTo(w.s.ann, child?.agent_id ?? 0)
  const asChild = {
    ...w.coordinator,
    agent_id: endpoint.agent_id,
    endpoint_id: endpoint.endpoint_id,
  }
  const changes = { name: 'grandchild', tool_scope: ['messages:read'] }
  await t.rejects(propose(w, changes, asChild), named('ErrSpawnDepthExceeded'))
})

t.test(
  'scenario 15: a taken name is refused; a rejection reaches the proposer and makes nobody',
  async (t) => {
    const w = await goalWorld(t)
    const agents = await w.count('agents')
    await t.rejects(propose(w, { name: 'planner' }), named('ErrAgentNameTaken'))
    const { proposal_id } = await propose(w)
    const decided = await decide(w, proposal_id, 'reject')
    t.equal(decided.status, 'rejected')
    t.match(await dm(w), /not now/)
    t.equal(await w.count('agents'), agents)
  },
)

t.test(
  'twins may be proposed; the second is refused at its approval and stays pending',
  async (t) => {
    const w = await goalWorld(t)
    const first = await propose(w)
    const second = await propose(w, { model: 'another' })
    const tries = await Promise.allSettled([
      decide(w, first.proposal_id),
      decide(w, second.proposal_id),
    ])
    const failed = tries.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
    const rows = [await show(w, first.proposal_id), await show(w, second.proposal_id)]
    const pending = rows.filter(({ status }) => status === 'pending')

    t.equal(failed.length, 1)
    t.match(failed[0], named('ErrAgentNameTaken'))
    t.match(pending, [{ failure: /^ErrAgentNameTaken/ }])
    t.equal(await w.count("agents where name = 'docs-scanner'"), 1)
    t.equal(await w.count('credential_claims'), 1)
  },
)

t.test('what changed meanwhile is checked again: scope, goal, task', async (t) => {
  const w = await goalWorld(t)
  const { proposal_id } = await propose(w)
  const edit = (tool_scope: string[]) =>
    w.call(editAgent, { agent_id: w.coordinator.agent_id, tool_scope }, { principal: w.s.ann })
  await edit(['messages:read'])
  await t.rejects(decide(w, proposal_id), named('ErrDelegationCapExceeded'))
  t.match(await show(w, proposal_id), { status: 'pending', failure: /^ErrDelegationCapExceeded/ })
  await edit(['messages:read', 'messages:send', 'channels:read'])
  await putGoal(w.s, w.s.ann, w.coordinator.agent_id, { ...w.goal, status: 'paused' })
  await t.rejects(decide(w, proposal_id), named('ErrGoalNotActive'))
  await putGoal(w.s, w.s.ann, w.coordinator.agent_id, w.goal)
  await putTask(w.s, w.goal, { ...w.task, status: 'cancelled' })
  await t.rejects(decide(w, proposal_id), named('ErrIllegalTransition'))
  await putTask(w.s, w.goal, w.task)
  t.match(await decide(w, proposal_id), { status: 'executed', failure: null })
})

t.test(
  'budgets: the task may have what the goal has left; nothing left, nothing to give',
  async (t) => {
    const w = await goalWorld(t, { budget_tokens: 1_000, remaining_tokens: 500 })
    await putTask(w.s, w.goal, { ...w.task, remaining_tokens: 600 })
    await t.rejects(propose(w), { ...named('ErrDelegationCapExceeded'), message: /budget_tokens/ })
    await putTask(w.s, w.goal, { ...w.task, remaining_tokens: 500 })
    await putGoal(w.s, w.s.ann, w.coordinator.agent_id, { ...w.goal, remaining_tokens: 0 })
    await t.rejects(propose(w), {
      ...named('ErrDelegationCapExceeded'),
      message: /nothing is left/,
    })
    await putGoal(w.s, w.s.ann, w.coordinator.agent_id, w.goal)
    await t.resolves(propose(w))
  },
)

t.test('servers that the proposer does not have are shown as a warning', async (t) => {
  const w = await goalWorld(t)
  const mcp_servers = [{ name: 'fs', url: 'http://files', transport: 'http' }]
  const { proposal_id } = await propose(w, { mcp_servers })
  t.match(await show(w, proposal_id), { warnings: [/MCP server .*fs \(http:\/\/files\)/] })
})

t.test('foreign goals and tasks are unknown ones; a person has no parent to be', async (t) => {
  const w = await goalWorld(t)
  const agents = await w.count('agents')
  const bob = await newUser(w.db, w.clock, 'bob')
  const theirs = await putGoal(w.s, bob, 1)
  const task = await putTask(w.s, theirs)
  const unknown = await refusal(propose(w, { goal_id: 999_999 }))
  t.strictSame(await refusal(propose(w, { goal_id: theirs.goal_id })), unknown)
  await t.rejects(propose(w, { parent_task_id: task.task_id }), named('ErrTaskNotFound'))
  const ofOther = await putTask(w.s, await putGoal(w.s, w.s.ann, w.coordinator.agent_id))
  await t.rejects(propose(w, { parent_task_id: ofOther.task_id }), named('ErrTaskNotFound'))
  await t.rejects(
    w.call(proposeAgent, scanner(w), { principal: w.s.ann }),
    named('ErrNotPermitted'),
  )
  await nothingMade(t, w, agents)
})

t.test('an idempotency key makes one proposal', async (t) => {
  const w = await goalWorld(t)
  const answers = await Promise.all([1, 2, 3].map(() => propose(w, { idempotency_key: 'k' })))
  t.strictSame(answers, [answers[0], answers[0], answers[0]])
  t.equal(await w.count('approvals'), 1)
})

t.test('any agent of the owner may propose, within what it has itself', async (t) => {
  const w = await goalWorld(t)
  const poor = await newAgent(w.s, w.s.ann, { name: 'poor' })
  await t.rejects(
    propose(w, { autonomy_tier: 'supervised' }, poor),
    named('ErrDelegationCapExceeded'),
  )
})
