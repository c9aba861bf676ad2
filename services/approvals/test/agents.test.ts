import { createKv } from '@guildhall/bus'
import {
  AgentRecord,
  agentChanged,
  agentKey,
  buckets,
  createAgent,
  deactivateAgent,
  editAgent,
  getAgent,
  getSettings,
  type InputOf,
  listAgents,
  listApprovals,
  setSettings,
  vendEndpoint,
} from '@guildhall/contracts'
import t from 'tap'
import { configHash } from '../src/config-hash.ts'
import { type GoalWorld, goalWorld, named, newAgent } from './goal-world.ts'
import { newUser, refusal } from './setup.ts'

const ofAnn = (w: GoalWorld) => ({ principal: w.s.ann })

const create = (w: GoalWorld, input: InputOf<typeof createAgent>, key?: string) =>
  w.call(createAgent, input, { ...ofAnn(w), idempotency_key: key })

const record = async (w: GoalWorld, agent_id: number) =>
  (await createKv(w.bus, buckets.agents, AgentRecord).get(agentKey(w.s.ann.user_id, agent_id)))
    ?.value

const CONFIG = {
  model: 'm-1',
  system_prompt: 'Do what is asked.',
  tool_scope: ['b', 'a'],
  skills: ['s'],
  mcp_servers: [{ name: 'fs', url: 'http://fs', transport: 'http' }],
  subagents: [],
}

t.test(
  'an agent is what its owner says, with its hash, and known everywhere at the answer',
  async (t) => {
    const w = await goalWorld(t)
    const agent = await create(w, { name: 'writer', ...CONFIG, autonomy_tier: 'autonomous' })
    t.match(agent, {
      ...CONFIG,
      name: 'writer',
      display_name: 'writer',
      status: 'active',
      autonomy_tier: 'autonomous',
      config_hash: configHash(CONFIG),
      spawn_depth: 0,
      parent_agent_id: null,
      quarantined_at: null,
      version: 1,
    })
    t.match(await record(w, agent.agent_id), { name: 'writer', config_hash: agent.config_hash })
    t.strictSame(await w.call(getAgent, { agent_id: agent.agent_id }, ofAnn(w)), agent)
  },
)

t.test('two agents of which nothing is known are not the same to reputation', async (t) => {
  const w = await goalWorld(t)
  const [one, other] = [await create(w, { name: 'one' }), await create(w, { name: 'other' })]
  t.not(one.config_hash, other.config_hash)
})

t.test('scenario 17: a changed prompt is a new hash, seeded from the old one', async (t) => {
  const w = await goalWorld(t)
  const before = await create(w, { name: 'writer', ...CONFIG })
  const { agent_id } = before
  const edit = (input: object) => w.call(editAgent, { agent_id, ...input }, ofAnn(w))
  const renamed = await edit({ display_name: 'The Writer', autonomy_tier: 'assisted' })
  t.equal(renamed.config_hash, before.config_hash, 'name and tier are not hashed')
  const edited = await edit({ system_prompt: 'Do what is asked, and say so.' })
  t.not(edited.config_hash, before.config_hash)
  t.strictSame(await edit({ tool_scope: ['b', 'a'] }), edited, 'no change, no new version')
  t.match(await record(w, agent_id), { version: 3, config_hash: edited.config_hash })
  const changes = (await w.events(agentChanged)).filter((one) => one.agent.agent_id === agent_id)
  t.strictSame(
    changes.map(({ change, seed }) => [change, seed]),
    [
      ['created', null],
      ['edited', null],
      ['edited', { from_config_hash: before.config_hash, domain: 'default' }],
    ],
  )
})

t.test('a name is taken while its agent is active, and free afterwards', async (t) => {
  const w = await goalWorld(t)
  const tries = await Promise.allSettled([1, 2, 3].map(() => create(w, { name: 'writer' })))
  t.equal(tries.filter(({ status }) => status === 'fulfilled').length, 1)
  await t.rejects(create(w, { name: 'writer' }), named('ErrAgentNameTaken'))
  const { agents } = await w.call(listAgents, { limit: 50 }, ofAnn(w))
  const agent_id = agents.find(({ name }) => name === 'writer')?.agent_id ?? 0
  await w.call(deactivateAgent, { agent_id }, ofAnn(w))
  const next = await create(w, { name: 'writer' })
  t.not(next.agent_id, agent_id)
})

t.test('one agent at a time has a template', async (t) => {
  const w = await goalWorld(t)
  const first = await create(w, { name: 'first', coordinator_template: 'docs' })
  const clash = { code: 'conflict', message: /another agent is the coordinator "docs"/ }
  await t.rejects(create(w, { name: 'second', coordinator_template: 'docs' }), clash)
  const second = await create(w, { name: 'second' })
  const give = (agent_id: number, coordinator_template: string | null) =>
    w.call(editAgent, { agent_id, coordinator_template }, ofAnn(w))
  await t.rejects(give(second.agent_id, 'docs'), clash)
  await give(first.agent_id, null)
  t.match(await give(second.agent_id, 'docs'), { coordinator_template: 'docs' })
})

t.test('deactivating ends credentials and what was asked for, once and for good', async (t) => {
  const w = await goalWorld(t)
  const { agent_id } = w.coordinator
  const vended = await w.call(vendEndpoint, { agent: { agent_id }, queues: ['inbox'] }, ofAnn(w))
  await w.propose()
  const deactivated = await w.call(deactivateAgent, { agent_id }, ofAnn(w))
  t.equal(deactivated.status, 'inactive')
  t.match(await record(w, agent_id), { status: 'inactive' })
  t.match(await w.identity.credential(vended.token), { revoked: true })
  t.match(await w.call(listApprovals, { limit: 5 }, ofAnn(w)), {
    approvals: [{ status: 'cancelled' }],
    waiting_on_you: 0,
  })
  t.strictSame(await w.call(deactivateAgent, { agent_id }, ofAnn(w)), deactivated)
  await t.rejects(w.call(editAgent, { agent_id, model: 'x' }, ofAnn(w)), { code: 'conflict' })
  await t.rejects(w.call(vendEndpoint, { agent: { agent_id }, queues: ['inbox'] }, ofAnn(w)), {
    code: 'conflict',
  })
})

t.test('a key makes one agent', async (t) => {
  const w = await goalWorld(t)
  const first = await create(w, { name: 'writer' }, 'k')
  t.strictSame(await create(w, { name: 'writer' }, 'k'), first)
})

t.test(
  "somebody else's agent is as unknown as one that never was; agents manage none",
  async (t) => {
    const w = await goalWorld(t)
    const bob = await newUser(w.db, w.clock, 'bob')
    const asBob = (agent_id: number) =>
      Promise.all(
        [
          w.call(getAgent, { agent_id }, { principal: bob }),
          w.call(editAgent, { agent_id, model: 'x' }, { principal: bob }),
          w.call(deactivateAgent, { agent_id }, { principal: bob }),
        ].map(refusal),
      )
    t.strictSame(await asBob(w.coordinator.agent_id), await asBob(999_999))
    t.strictSame((await w.call(listAgents, { limit: 5 }, { principal: bob })).agents, [])
    await t.rejects(w.call(createAgent, { name: 'mine' }, { principal: w.coordinator }), {
      code: 'forbidden',
    })
    const seen = await w.call(listAgents, { limit: 5 }, { principal: w.coordinator })
    t.equal('system_prompt' in (seen.agents[0] ?? {}), false)
  },
)

t.test('lists come in pages, newest first, by status', async (t) => {
  const w = await goalWorld(t)
  for (const name of ['one', 'two', 'three']) await newAgent(w.s, w.s.ann, { name })
  const names = async (input: Partial<InputOf<typeof listAgents>>) => {
    const { agents, next_cursor } = await w.call(listAgents, { limit: 2, ...input }, ofAnn(w))
    return { names: agents.map(({ name }) => name), next_cursor }
  }
  const first = await names({})
  t.strictSame(first.names, ['three', 'two'])
  t.strictSame((await names({ cursor: first.next_cursor })).names, ['one', 'planner'])
  t.strictSame((await names({ status: 'inactive' })).names, [])
  await t.rejects(names({ cursor: 'x' }), { code: 'invalid_argument' })
})

t.test('settings are off until they are switched on, and are the own of each owner', async (t) => {
  const w = await goalWorld(t)
  const bob = await newUser(w.db, w.clock, 'bob')
  const off = { command_verifiers_enabled: false }
  t.strictSame(await w.call(getSettings, {}, ofAnn(w)), off)
  const on = { command_verifiers_enabled: true }
  t.strictSame(await w.call(setSettings, on, ofAnn(w)), on)
  t.strictSame(await w.call(setSettings, {}, ofAnn(w)), on, 'what is omitted stays')
  t.strictSame(await w.call(getSettings, {}, ofAnn(w)), on)
  t.strictSame(await w.call(getSettings, {}, { principal: bob }), off)
})
