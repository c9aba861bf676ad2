import { createKv } from '@guildhall/bus'
import {
  AgentRecord,
  agentKey,
  buckets,
  type HashedConfig,
  listAgents,
  vendEndpoint,
} from '@guildhall/contracts'
import { connectDb, migrate } from '@guildhall/db'
import { createLogger } from '@guildhall/runtime'
import { createDatabase, waitFor } from '@guildhall/testing'
import t from 'tap'
import { hashedPart } from '../src/agents.ts'
import { configHash } from '../src/config-hash.ts'
import { createUser } from '../src/first-owner.ts'
import { migrations } from '../src/migrations/index.ts'
import { createProjection } from '../src/projection.ts'
import { reconcileIdentity } from '../src/reconciler.ts'
import { setup, tableRows } from './setup.ts'

const before = Object.fromEntries(
  Object.entries(migrations).filter(([name]) => name < '0010-grow-agents'),
)

t.test('agents from before get a configuration, the right hash, and a coordinator', async (t) => {
  const log = createLogger({ service: 'approvals', level: 'silent' })
  const { url } = await createDatabase()
  const db = connectDb(url, { log, max: 2 })
  t.teardown(() => db.destroy())
  await migrate(db, before)
  await db.raw(`
    insert into users (username, created_at) values ('ann', now()), ('bob', now());
    insert into agents (user_id, name, created_at)
      values (1, 'worker', now()), (1, 'idle', now()), (2, 'coordinator', now());
    insert into endpoints (endpoint_id, user_id, agent_id, name, tools, queues, webhook_max,
        webhook_source_types, webhook_queues, require_fence, rate_limit, allowed_cidrs, status,
        credential_prefix, created_at, version)
      select 'ep_' || n, 1, 1, 'e', case n when 1 then array['fail', 'claim'] else array['claim'] end,
        array['inbox'], 0, '{}', '{}', false, '{}', '{}', 'active', 'p', now(), 1
      from generate_series(1, 2) n`)
  await migrate(db, migrations)
  const agents = await tableRows(db, 'select * from agents order by user_id, name')

  t.match(
    agents.map(({ user_id, name, tool_scope, coordinator_template, status, version }) => ({
      user_id,
      name,
      tool_scope: name === 'coordinator' && user_id === 1 ? 'much' : tool_scope,
      coordinator_template,
      status,
      version,
    })),
    [
      { user_id: 1, name: 'coordinator', tool_scope: 'much', coordinator_template: 'default' },
      { user_id: 1, name: 'idle', tool_scope: [], coordinator_template: null },
      { user_id: 1, name: 'worker', tool_scope: ['claim', 'fail'], coordinator_template: null },
      { user_id: 2, name: 'coordinator', tool_scope: [], coordinator_template: 'default' },
    ].map((agent) => ({ ...agent, status: 'active', version: 1 })),
  )
  for (const agent of agents) {
    // The columns that the migration added are those of the configuration.
    t.equal(agent.config_hash, configHash(hashedPart(agent as unknown as HashedConfig)))
  }
})

t.test('a new person has a coordinator, which the bus knows', async (t) => {
  const s = await setup(t)
  const link = await createUser(s.db, 'carl', new Date(s.clock.now()))
  const user_id = link?.user_id ?? 0
  const { agents } = await s.call(
    listAgents,
    { limit: 5 },
    { principal: { kind: 'human', user_id } },
  )
  t.match(agents, [{ name: 'coordinator', coordinator_template: 'default', spawn_depth: 0 }])
  const kv = createKv(s.bus, buckets.agents, AgentRecord)
  const key = agentKey(user_id, agents[0]?.agent_id ?? 0)
  const record = await waitFor(async () => (await kv.get(key))?.value, { what: 'the record' })
  t.match(record, { name: 'coordinator', coordinator_template: 'default' })
})

t.test('the bucket of agents is built again from the database', async (t) => {
  const s = await setup(t)
  const { endpoint } = await s.vend()
  const kv = createKv(s.bus, buckets.agents, AgentRecord)
  const key = agentKey(s.ann.user_id, endpoint.agent_id)
  const entry = await kv.get(key)
  await kv.delete(key)
  const { agents } = await reconcileIdentity(s.db, createProjection(s.bus))
  t.strictSame(agents, { seen: 1, written: 1 })
  t.strictSame((await kv.get(key))?.value, entry?.value)
})

t.test('an agent that a vend makes may hand on what its endpoint may do', async (t) => {
  const s = await setup(t)
  await s.call(
    vendEndpoint,
    { agent: { name: 'worker' }, queues: ['inbox'], tools: ['claim', 'fail'] },
    { principal: s.ann },
  )
  const { agents } = await s.call(listAgents, { limit: 5 }, { principal: s.ann })
  t.match(agents, [{ name: 'worker', tool_scope: ['claim', 'fail'], autonomy_tier: 'supervised' }])
})
