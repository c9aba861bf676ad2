import {
  claim,
  claimNext,
  createApiToken,
  createTodo,
  createWebhook,
  getTodo,
  grantableTools,
  listApiTokens,
  listEndpoints,
  listTodos,
  listWebhookEvents,
  listWebhooks,
  type Operation,
  operations,
  revokeApiToken,
  tools,
} from '@guildhall/contracts'
import { waitFor } from '@guildhall/testing'
import t from 'tap'
import { mcpHeaders, postRpc } from './support/agent.ts'
import { argumentsFor, type Ids, idField, nobodysIds } from './support/foreign-ids.ts'
import { send, withoutRequestId } from './support/http.ts'
import { firstOwner, requestOf, secondOwner } from './support/owner.ts'
import { runningSystem } from './support/running-system.ts'
import { SETTLING, settledStream } from './support/settled-stream.ts'
import { accepted, deliver, githubBody } from './support/webhook.ts'

/** Two owners who know nothing of each other, and the limits inside which an endpoint stays. */

const system = await runningSystem(t)
const [mcp_url = ''] = system.mcp_urls
const alice = firstOwner(system)
const mallory = await secondOwner(system, 'mallory')
const all_tools = [...grantableTools]

const agent = await alice.vend({ queues: ['inbox'], tools: all_tools })
const spy = await mallory.vend({ queues: ['inbox', SETTLING], tools: all_tools })

/** One of everything that Alice can have. */
const aliceIds = async (): Promise<Ids> => {
  const { id: todo } = await agent.call(createTodo, { queue: 'inbox', title: 'private' })
  const webhook = await agent.call(createWebhook, { source_type: 'github', target_queue: 'inbox' })
  const body = githubBody('issues', 'opened', 'of alice')
  accepted(await deliver(webhook, { body, event: 'issues' }))
  const event = await waitFor(async () => (await agent.call(listWebhookEvents, {})).events[0], {
    what: 'the event in the history',
  })
  const { api_token } = await alice.call(createApiToken, { name: 'second' })
  const { endpoint_id, agent_id } = agent.endpoint
  return {
    todo,
    webhook: webhook.webhook_id,
    event: event.id,
    endpoint: endpoint_id,
    api_token: api_token.token_id,
    agent: agent_id,
  }
}
const hers = await aliceIds()

const names = (ops: readonly Operation[]): string[] => ops.map(({ name }) => name)
const naming = (op: Operation): boolean => idField(op) !== undefined
const walked_tools = tools.filter(naming)
const walked_routes = operations.filter((op: Operation) => op.http !== undefined && naming(op))

t.test('C4 with every tool, a stranger cannot tell a foreign id from an unknown one', async (t) => {
  t.strictSame(names(walked_tools).sort(), [
    'claim',
    'complete',
    'delete_webhook',
    'fail',
    'get_todo',
    'get_todo_payload',
    'get_webhook_event',
    'heartbeat',
    'release',
    'replay_webhook_event',
    'retry_todo',
    'rotate_webhook',
    'set_webhook_secret',
  ])
  for (const op of walked_tools) {
    const foreign = await spy.refused(op.name, argumentsFor(op, hers))
    const unknown = await spy.refused(op.name, argumentsFor(op, nobodysIds()))
    t.equal(foreign.code, 'not_found', op.name)
    t.equal(
      JSON.stringify(withoutRequestId(foreign)),
      JSON.stringify(withoutRequestId(unknown)),
      `${op.name}: byte for byte`,
    )
  }
})

t.test(
  'C4 on every REST route, a stranger cannot tell a foreign id from an unknown one',
  async (t) => {
    t.strictSame(names(walked_routes).sort(), [
      'claim',
      'complete',
      'delete_webhook',
      'edit_endpoint',
      'fail',
      'get_todo',
      'get_webhook_event',
      'heartbeat',
      'release',
      'replay_webhook_event',
      'retry_todo',
      'revoke_api_token',
      'revoke_endpoint',
      'rotate_endpoint',
      'rotate_webhook',
      'set_webhook_secret',
      'vend_endpoint',
    ])
    for (const op of walked_routes) {
      const ask = (ids: Ids) => {
        const { method, path, body } = requestOf(op, argumentsFor(op, ids))
        return mallory.rest(method, path, body)
      }
      const [foreign, unknown] = [await ask(hers), await ask(nobodysIds())]
      t.equal(foreign.status, 404, op.name)
      t.equal(unknown.status, 404, op.name)
      t.equal(
        JSON.stringify(withoutRequestId(foreign.body)),
        JSON.stringify(withoutRequestId(unknown.body)),
        `${op.name}: byte for byte`,
      )
    }
  },
)

t.test('C4 nothing of it had an effect, and Alice sees all of hers', async (t) => {
  const shown = await alice.call(getTodo, { id: `${hers.todo}` })
  t.match(shown, { state: 'pending', attempts_total: 0 })
  const { webhooks } = await alice.call(listWebhooks, {})
  t.match(webhooks, [{ webhook_id: hers.webhook, secret_set: true }])
  const { endpoints } = await alice.call(listEndpoints, {})
  const listed = endpoints.find(({ endpoint_id }) => endpoint_id === hers.endpoint)
  t.match(listed, { status: 'active', version: 1 })
  const { api_tokens } = await alice.call(listApiTokens, {})
  t.ok(api_tokens.some(({ token_id }) => token_id === hers.api_token))
})

t.test('C4 lists, claims and doorbells of a queue of the same name are apart', async (t) => {
  const stream = await settledStream(t, mcp_url, spy)
  await agent.call(createTodo, { queue: 'inbox', title: 'for alice only' })
  const { id: own } = await spy.call(createTodo, { queue: 'inbox', title: 'for mallory' })
  await stream.untilRung(own)
  t.strictSame(stream.rung('inbox'), [own], 'only the own todo rings')
  t.match(await spy.call(claimNext, {}), { todo: { id: own } })
  t.strictSame(await spy.call(claimNext, { queue: 'inbox' }), { empty: true })
  // Once the lists have followed.
  const claimed = async () => (await spy.call(listTodos, { state: 'claimed' })).todos.length
  await waitFor(claimed, { what: 'the claim in the list' })
  t.strictSame((await spy.call(listTodos, { state: 'pending' })).todos, [])
  t.strictSame((await mallory.call(listTodos, { state: 'pending' })).todos, [])
  for (const caller of [spy, mallory]) {
    t.strictSame((await caller.call(listWebhookEvents, {})).events, [])
    t.strictSame((await caller.call(listWebhooks, {})).webhooks, [])
  }
  const { endpoints } = await mallory.call(listEndpoints, {})
  t.strictSame(
    endpoints.map(({ endpoint_id }) => endpoint_id),
    [spy.endpoint.endpoint_id],
  )
})

t.test('C6 a sibling endpoint cannot tell a webhook of another from an unknown one', async (t) => {
  const sibling = await alice.vend({ queues: ['inbox'], tools: all_tools })
  for (const op of walked_tools.filter(({ service }) => service === 'ingest')) {
    const theirs = await sibling.refused(op.name, argumentsFor(op, hers))
    const unknown = await sibling.refused(op.name, argumentsFor(op, nobodysIds()))
    t.equal(theirs.code, 'not_found', op.name)
    t.strictSame(withoutRequestId(theirs), withoutRequestId(unknown), op.name)
  }
  const malformed = await sibling.refused('delete_webhook', { webhook_id: 'not an id' })
  t.equal(malformed.code, 'not_found')
})

t.test('C1 each credential opens its own door only', async (t) => {
  const unauthenticated = { status: 401, body: { code: 'unauthenticated' } }
  const token_of = (value: string) => ({ authorization: `Bearer ${value}` })
  t.match(await postRpc(mcp_url, undefined, 'tools/list'), unauthenticated, 'nobody at /mcp')
  const as_person = await postRpc(mcp_url, alice.api_token, 'tools/list')
  t.match(as_person, { status: 200, text: /"decide_approval"/ }, 'an owner at /mcp is a person')
  t.notMatch(as_person.text, '"set_default_lease"', 'who has no endpoint')
  t.match(await send(`${alice.api_url}/me`), unauthenticated, 'nobody at /api')
  for (const op of operations.filter((candidate: Operation) => candidate.http !== undefined)) {
    const { method, path, body } = requestOf(op, naming(op) ? argumentsFor(op, hers) : {})
    const answer = await send(`${alice.api_url}${path}`, {
      method,
      headers: { ...token_of(agent.token), 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    t.match(answer, unauthenticated, `an agent at ${op.name}`)
  }
  const { api_token, token } = await alice.call(createApiToken, { name: 'for a while' })
  const me = () => send(`${alice.api_url}/me`, { headers: token_of(token) })
  t.match(await me(), { status: 200 })
  await alice.call(revokeApiToken, { token_id: api_token.token_id })
  await waitFor(async () => (await me()).status === 401, {
    timeout_ms: 1_000,
    what: 'the revoked API token to be refused',
  })
  const stream = await send(mcp_url, {
    headers: { ...mcpHeaders(undefined), accept: 'text/event-stream' },
  })
  t.match(stream, unauthenticated, 'nobody gets a stream')
})

t.test('C2 a verb that is not granted is not listed and has no effect', async (t) => {
  const reader = await alice.vend({ queues: ['inbox'], tools: ['list_todos'] })
  t.strictSame(await reader.toolNames(), ['list_todos', 'get_todo'])
  for (const { name } of tools) {
    if (['list_todos', 'get_todo'].includes(name)) continue
    const refused = await reader.refused(name, { anything: 'at all' })
    t.equal(refused.code, 'forbidden', name)
  }
  t.match(await alice.call(getTodo, { id: `${hers.todo}` }), { state: 'pending' })
  const unknown = await postRpc(mcp_url, reader.token, 'tools/call', { name: 'no_such_tool' })
  t.match(unknown.body, { error: { code: -32_602, message: /Unknown tool/ } })
})

t.test('C3 a queue outside the grant is refused before anything changes', async (t) => {
  const { id } = await agent.call(createTodo, { queue: 'inbox', title: 'out of reach' })
  const outsider = await alice.vend({ queues: ['other'], tools: all_tools })
  for (const [name, args] of [
    ['claim', { id }],
    ['claim_next', { queue: 'inbox' }],
    ['list_todos', { queue: 'inbox' }],
    ['create_todo', { queue: 'inbox', title: 'planted' }],
  ] as const) {
    t.equal((await outsider.refused(name, args)).code, 'forbidden', name)
  }
  t.equal((await outsider.refused('get_todo', { id })).code, 'not_found')
  t.strictSame(await outsider.call(claimNext, {}), { empty: true })
  const { todos } = await outsider.call(listTodos, {})
  t.strictSame(todos, [])
  t.match(await agent.call(claim, { id }), { id, attempt: 1 }, 'it was never claimed before')
})

t.test('C5 the ceiling holds, also for two creates at once at its edge', async (t) => {
  const narrow = await alice.vend({
    queues: ['inbox', 'builds'],
    webhook_max: 2,
    webhook_source_types: ['github', 'generic'],
    webhook_queues: ['inbox'],
  })
  const refusal = async (source_type: string, target_queue: string): Promise<string> =>
    (await narrow.refused('create_webhook', { source_type, target_queue })).code
  t.equal(await refusal('stripe', 'inbox'), 'forbidden_source_type')
  t.equal(await refusal('github', 'builds'), 'forbidden')
  t.equal(await refusal('github', 'quarantine'), 'invalid_argument')
  const first = await narrow.call(createWebhook, { source_type: 'github', target_queue: 'inbox' })
  t.match(first.signing_secret, /^whsec_/)

  const args = { source_type: 'generic', target_queue: 'inbox' }
  const both = await Promise.all([
    narrow.tool('create_webhook', args),
    narrow.tool('create_webhook', args),
  ])
  const refused = both.filter(({ isError }) => isError === true)
  t.equal(refused.length, 1, 'one of the two wins')
  t.match(refused[0]?.content[0]?.text, /"code":"ceiling_exceeded"/)
  const listed = await narrow.tool('list_webhooks')
  t.match(listed.structuredContent, {
    ceiling: { max: 2, used: 2, allowed_source_types: ['github', 'generic'] },
  })
  t.notMatch(JSON.stringify(listed), 'whsec_', 'no list shows a secret')
  t.equal(await refusal('github', 'inbox'), 'ceiling_exceeded')
})
