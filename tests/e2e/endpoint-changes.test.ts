import {
  claim,
  claimNext,
  createTodo,
  createWebhook,
  getTodo,
  LEASE_DEFAULT_SECONDS,
  listWebhookEvents,
  revokeEndpoint,
  rotateEndpoint,
  setDefaultLease,
} from '@guildhall/contracts'
import { waitFor } from '@guildhall/testing'
import t, { type Test } from 'tap'
import { postRpc } from './support/agent.ts'
import { attach, type EventStream, TOOLS_CHANGED } from './support/event-stream.ts'
import { firstOwner, type Vended } from './support/owner.ts'
import { runningSystem } from './support/running-system.ts'
import { SETTLING, settledStream } from './support/settled-stream.ts'
import { accepted, deliver, githubBody } from './support/webhook.ts'

/** What an owner or an agent changes about an endpoint, as everybody else sees it, on all replicas. */

const system = await runningSystem(t, { replicas: { 'mcp-gateway': 2 } })
const owner = firstOwner(system)
const urls = system.mcp_urls
const [left = '', right = ''] = urls

const attached = async (t: Test, url: string, { token }: Vended): Promise<EventStream> => {
  const stream = await attach(url, token)
  t.teardown(() => stream.close())
  t.equal(stream.status, 200)
  return stream
}

const changes = ({ messages }: EventStream): number =>
  messages.filter(({ method }) => method === TOOLS_CHANGED).length

/** Names of the tools whose text states this lease. */
const toolsThatState = async (url: string, { token }: Vended, seconds: number) => {
  const { body } = await postRpc(url, token, 'tools/list')
  const { tools } = (body as { result: { tools: { name: string; description: string }[] } }).result // else the test fails here
  return tools
    .filter(({ description }) => description.includes(`${seconds} seconds`))
    .map(({ name }) => name)
}

const LEASED = ['claim_next', 'claim', 'heartbeat']

t.test('B10 a new default lease is told on every stream of its endpoint alone', async (t) => {
  const agent = await owner.vend({ queues: ['inbox'] })
  const stranger = await owner.vend({ queues: ['inbox'] })
  const mine = [
    await attached(t, left, agent),
    await attached(t, left, agent),
    await attached(t, right, agent),
  ]
  const theirs = await attached(t, right, stranger)
  t.strictSame(await toolsThatState(right, agent, LEASE_DEFAULT_SECONDS), LEASED)

  const set = await agent.call(setDefaultLease, { default_lease_ttl_seconds: 2_700 })
  t.match(set, { default_lease_ttl_seconds: 2_700, effective_lease_ttl_seconds: 2_700 })
  for (const stream of mine) await stream.until(TOOLS_CHANGED)
  for (const url of urls) {
    t.strictSame(await toolsThatState(url, agent, 2_700), LEASED, 'on each replica')
    t.strictSame(await toolsThatState(url, stranger, LEASE_DEFAULT_SECONDS), LEASED)
    t.strictSame(await toolsThatState(url, stranger, 2_700), [])
  }
  // The stranger's own change travels the same way: what was meant for others would be there first.
  await stranger.call(setDefaultLease, { default_lease_ttl_seconds: 60 })
  await theirs.until(TOOLS_CHANGED)
  t.strictSame([...mine, theirs].map(changes), [1, 1, 1, 1])
})

t.test(
  'C9 C1 a revoked endpoint loses its streams at once, its claims and its webhooks',
  async (t) => {
    const agent = await owner.vend({ queues: ['work'] })
    const heir = await owner.vend({ queues: ['work', SETTLING] })
    const streams = [await attached(t, left, agent), await attached(t, right, agent)]
    const theirs = await settledStream(t, left, heir)
    const webhook = await agent.call(createWebhook, { source_type: 'github', target_queue: 'work' })
    const before = githubBody('issues', 'opened', 'before')
    const { id } = accepted(await deliver(webhook, { body: before, event: 'issues' }))
    await theirs.untilRung(id)
    await agent.call(claim, { id, lease_ttl_seconds: 3_600 })
    const { endpoint_id } = agent.endpoint
    const revoked = await owner.call(revokeEndpoint, { endpoint_id })
    t.match(revoked, { status: 'revoked' })
    const started = performance.now()
    await waitFor(() => streams.every(({ open }) => !open), { what: 'the streams to close' })
    const took_ms = performance.now() - started
    t.ok(took_ms < 1_000, `they closed ${Math.round(took_ms)} ms after the answer`)
    for (const url of urls) {
      t.equal((await postRpc(url, agent.token, 'tools/list')).status, 401)
      t.equal((await attach(url, agent.token)).status, 401)
    }
    t.ok(theirs.open, 'the stream of another endpoint stays')

    await waitFor(() => theirs.rung().filter((rung) => rung === id).length >= 2, {
      what: 'the doorbell for the returned claim',
    })
    const taken = await heir.call(claimNext, { queue: 'work' })
    t.match(taken, { todo: { id, attempt: 2 }, prior_attempts: [{ seq: 1, outcome: 'revoked' }] })

    const after = githubBody('issues', 'opened', 'after')
    const refused = await deliver(webhook, { body: after, event: 'issues' })
    t.equal(refused.status, 503, 'A6 its webhooks answer 503')
    t.match(refused.headers.get('retry-after'), /^\d+$/)
    const { events } = await owner.call(listWebhookEvents, { provider: 'github' })
    t.equal(events.length, 1, 'and store nothing')
    t.match(await heir.call(claimNext, { queue: 'work' }), { empty: true })
  },
)

t.test('C1 a rotated credential ends at once and the new one works', async (t) => {
  const agent = await owner.vend({ queues: ['inbox'] })
  const stream = await attached(t, right, agent)
  const { endpoint_id } = agent.endpoint
  const { token } = await owner.call(rotateEndpoint, { endpoint_id })
  await waitFor(() => !stream.open, { timeout_ms: 1_000, what: 'the stream of the old one to end' })
  for (const url of urls) {
    const old = await postRpc(url, agent.token, 'tools/list')
    t.match(old, { status: 401, body: { code: 'unauthenticated' } })
    const fresh = await postRpc(url, token, 'tools/list')
    t.equal(fresh.status, 200)
  }
})

t.test('C2 an edit of the grants holds at once, on open streams too', async (t) => {
  const agent = await owner.vend({ queues: ['inbox', 'extra'] })
  const stream = await attached(t, right, agent)
  const { id } = await agent.call(createTodo, { queue: 'extra', title: 'before the edit' })
  await stream.untilRung(id)
  const { endpoint_id, tools } = agent.endpoint
  const edit = { queues: ['inbox'], tools: tools.filter((tool) => tool !== 'create_todo') }
  t.match(await owner.rest('PATCH', `/endpoints/${endpoint_id}`, edit), { status: 200 })
  await stream.until(TOOLS_CHANGED)
  for (const url of urls) {
    const names = await postRpc(url, agent.token, 'tools/list')
    t.notMatch(names.text, '"create_todo"')
  }
  const refused = await agent.refused('create_todo', { queue: 'inbox', title: 'after it' })
  t.match(refused, { code: 'forbidden' })
  t.match(await agent.refused('claim', { id }), { code: 'forbidden' })
  t.match(await agent.refused('get_todo', { id }), { code: 'not_found' })
  const shown = await owner.call(getTodo, { id })
  t.match(shown, { state: 'pending', attempts_total: 0 })
})
