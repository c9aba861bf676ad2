import { randomBytes } from 'node:crypto'
import {
  defaultGrants,
  grantableTools,
  RATE_LIMIT_DEFAULT,
  SourceType,
  vendEndpoint,
} from '@guildhall/contracts'
import t from 'tap'
import { handleVendEndpoint } from '../src/operations/vend-endpoint.ts'
import { createTokenMint } from '../src/tokens.ts'
import {
  agentOf,
  contextOf,
  MCP_URL,
  newUser,
  refusal,
  type Setup,
  setup,
  tableRows,
} from './setup.ts'

const DAY_MS = 86_400_000

t.test('a vended credential works when the answer arrives', async (t) => {
  const s = await setup(t)
  const { endpoint, token, mcp_url, client_config } = await s.vend()

  t.match(token, /^agt_[A-Za-z0-9_-]{43}$/)
  t.strictSame(await s.identity.credential(token), {
    v: 1,
    kind: 'endpoint',
    endpoint_id: endpoint.endpoint_id,
    revoked: false,
  })
  t.strictSame(await s.identity.endpoint(endpoint.endpoint_id), endpoint)
  t.equal(mcp_url, MCP_URL)
  t.strictSame(client_config, {
    guildhall: { type: 'http', url: MCP_URL, headers: { Authorization: `Bearer ${token}` } },
  })
})

t.test(
  'an endpoint whose owner chose nothing but queues can do everything by default',
  async (t) => {
    const s = await setup(t)
    const { endpoint, token } = await s.vend({ queues: ['inbox', 'reviews', 'inbox'] })

    t.strictSame(endpoint, {
      endpoint_id: endpoint.endpoint_id,
      user_id: s.ann.user_id,
      agent_id: endpoint.agent_id,
      agent_name: 'worker',
      name: 'worker',
      tools: [...defaultGrants],
      queues: ['inbox', 'reviews'],
      webhook_max: 5,
      webhook_source_types: [...SourceType.options],
      webhook_queues: ['inbox', 'reviews'],
      default_lease_ttl_seconds: null,
      require_fence: false,
      rate_limit: RATE_LIMIT_DEFAULT,
      allowed_cidrs: [],
      expires_at: null,
      status: 'active',
      credential_prefix: token.slice(0, 12),
      created_at: new Date(s.clock.now()).toISOString(),
      revoked_at: null,
      version: 1,
    })
  },
)

t.test('what the owner chose is kept as it was chosen', async (t) => {
  const s = await setup(t)
  const chosen = {
    name: 'night shift',
    tools: ['claim', 'create_webhook'],
    queues: ['night'],
    webhook_max: 1,
    webhook_source_types: ['github' as const],
    webhook_queues: ['day'],
    default_lease_ttl_seconds: 3_600,
    require_fence: true,
    rate_limit: { per_second: 0.5, burst: 1 },
    allowed_cidrs: ['10.0.0.0/8', '2001:db8::/32'],
    expires_at: new Date(s.clock.now() + DAY_MS).toISOString(),
  }
  const { endpoint } = await s.vend(chosen)

  t.match(endpoint, chosen)
})

t.test('without create_webhook there is no ceiling for webhooks', async (t) => {
  const s = await setup(t)
  const { endpoint } = await s.vend({ tools: ['claim', 'complete'] })

  t.equal(endpoint.webhook_max, 0)
})

const refusedInputs: { what: string; input: (s: Setup) => object; message: RegExp }[] = [
  {
    what: 'an unknown tool, naming the allowed ones',
    input: () => ({ tools: ['claim', 'fly'] }),
    message: /unknown tool "fly"; allowed are claim_next, claim, /,
  },
  {
    what: 'a ceiling under which no webhook can be made',
    input: () => ({ webhook_source_types: [] }),
    message: /webhook_max above 0 needs at least one entry/,
  },
  {
    what: 'an expiry that has passed',
    input: (s) => ({ expires_at: new Date(s.clock.now()).toISOString() }),
    message: /expires_at: must lie in the future/,
  },
  {
    what: 'a name with a NUL',
    input: () => ({ name: 'a\u0000b' }),
    message: /name: a name needs a visible character/,
  },
  {
    what: 'an agent name of half a surrogate pair',
    input: () => ({ agent: { name: 'a\ud800' } }),
    message: /agent.name: a name needs a visible character/,
  },
  { what: 'no queue', input: () => ({ queues: [] }), message: /queues/ },
  { what: 'an unknown setting', input: () => ({ colour: 'red' }), message: /colour/ },
]

for (const { what, input, message } of refusedInputs) {
  t.test(`a vend with ${what} is refused and makes nothing`, async (t) => {
    const s = await setup(t)

    await t.rejects(s.vend(input(s)), { code: 'invalid_argument', message })
    t.strictSame(await tableRows(s.db, 'select agent_id from agents'), [])
    t.strictSame(await tableRows(s.db, 'select id from outbox'), [])
  })
}

t.test('a refused tool comes with the list of allowed ones', async (t) => {
  const s = await setup(t)

  t.match(await refusal(s.vend({ tools: ['fly'] })), {
    details: { unknown: ['fly'], allowed: [...grantableTools] },
  })
})

t.test('an agent is made by name once, and can be named by its id then', async (t) => {
  const s = await setup(t)
  const [first, second] = await Promise.all([s.vend(), s.vend()])
  const { agent_id } = first.endpoint
  const third = await s.vend({ agent: { agent_id } })

  t.equal(second.endpoint.agent_id, agent_id)
  t.equal(third.endpoint.agent_name, 'worker')
  t.equal(third.endpoint.agent_id, agent_id)
})

t.test("another person's agent is as unknown as one that never was", async (t) => {
  const s = await setup(t)
  const bob = await newUser(s.db, s.clock, 'bob')
  const { endpoint } = await s.vend()
  const as_bob = (agent_id: number) =>
    refusal(s.call(vendEndpoint, { agent: { agent_id }, queues: ['inbox'] }, { principal: bob }))
  const foreign = await as_bob(endpoint.agent_id)

  t.match(foreign, { code: 'not_found' })
  t.strictSame(await as_bob(999), foreign)
  t.strictSame(await as_bob(Number.MAX_SAFE_INTEGER), foreign)
})

t.test('parallel repeats of a vend give one endpoint and one token', async (t) => {
  const s = await setup(t)
  const answers = await Promise.all(Array.from({ length: 8 }, () => s.vend({}, 'key-1')))

  t.strictSame(
    answers,
    answers.map(() => answers[0]),
  )
  t.strictSame(await tableRows(s.db, 'select count(*) as endpoints from endpoints'), [
    { endpoints: 1 },
  ])
})

t.test('an idempotency key is refused for other arguments', async (t) => {
  const s = await setup(t)
  await s.vend({}, 'key-1')

  await t.rejects(s.vend({ queues: ['reviews'] }, 'key-1'), { code: 'idempotency_conflict' })
})

t.test('an idempotency key is the own of each person', async (t) => {
  const s = await setup(t)
  const bob = await newUser(s.db, s.clock, 'bob')
  const input = { agent: { name: 'worker' }, queues: ['inbox'] }
  const hers = await s.vend({}, 'key-1')
  const his = await s.call(vendEndpoint, input, { principal: bob, idempotency_key: 'key-1' })

  t.not(his.endpoint.endpoint_id, hers.endpoint.endpoint_id)
  t.not(his.token, hers.token)
})

t.test('after a day the same key makes a new endpoint with a new token', async (t) => {
  const s = await setup(t)
  const first = await s.vend({}, 'key-1')
  s.clock.advance(DAY_MS)
  const second = await s.vend({}, 'key-1')

  t.not(second.endpoint.endpoint_id, first.endpoint.endpoint_id)
  t.not(second.token, first.token)
})

t.test('a repeat under another service key makes nothing and shows no other token', async (t) => {
  const s = await setup(t)
  const input = { agent: { name: 'worker' }, queues: ['inbox'] }
  await s.vend({}, 'key-1')
  const handle = handleVendEndpoint({ ...s.deps, tokens: createTokenMint(randomBytes(32)) })

  await t.rejects(handle(contextOf(s.ann, 'key-1'), input), { code: 'conflict' })
  t.strictSame(await tableRows(s.db, 'select count(*) as endpoints from endpoints'), [
    { endpoints: 1 },
  ])
})

t.test('nobody has more active endpoints than the ceiling', async (t) => {
  const s = await setup(t)
  await s.vend()
  await s.db.raw(`
    insert into endpoints
    select 'ep_' || lpad(n::text, 26, '0'), user_id, agent_id, name, tools, queues, webhook_max,
      webhook_source_types, webhook_queues, default_lease_ttl_seconds, require_fence, rate_limit,
      allowed_cidrs, expires_at, status, credential_prefix, created_at, revoked_at, version
    from endpoints, generate_series(1, 998) n`)
  const results = await Promise.allSettled([s.vend(), s.vend()])

  t.strictSame(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  await t.rejects(s.vend(), { code: 'ceiling_exceeded' })
})

t.test('C2 an agent cannot vend, whatever its endpoint is granted', async (t) => {
  const s = await setup(t)
  const { endpoint } = await s.vend({ tools: [...grantableTools] })
  const input = { agent: { name: 'worker' }, queues: ['inbox'] }

  await t.rejects(s.call(vendEndpoint, input, { principal: agentOf(endpoint) }), {
    code: 'forbidden',
  })
})
