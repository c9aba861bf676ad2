import {
  createWebhook,
  getTodo,
  getWebhookEvent,
  listTodos,
  listWebhookEvents,
  replayWebhookEvent,
  type WebhookWithSecret,
} from '@guildhall/contracts'
import { type System, waitFor } from '@guildhall/testing'
import t, { type Test } from 'tap'
import { CHANNEL, ringsOf, UPDATED } from './support/event-stream.ts'
import { send } from './support/http.ts'
import { legacyWorker, modernWorker, type Worker } from './support/official-clients.ts'
import { firstOwner, logIn, type Owner, type Vended } from './support/owner.ts'
import { runningSystem } from './support/running-system.ts'
import { accepted, deliver, githubBody, signature } from './support/webhook.ts'

/** From nothing to finished work, as an owner, an agent and a provider live it. */

const system: System = await runningSystem(t)
const owner = firstOwner(system)
const [mcp_url = '', api_url = ''] = [system.mcp_urls[0], system.api_urls[0]]

t.test('the one-time login link logs the owner in, once', async (t) => {
  const link = system.owner.login_url
  const page = await send(link)
  t.match(page, { status: 200, text: /Log in to Guildhall/ }, 'the link opens a page')
  t.notOk(page.headers.has('set-cookie'), 'which a preview may fetch without using the link up')

  const proof = { login_token: new URL(link).searchParams.get('token') }
  const session = await logIn(api_url, proof)
  t.match(session.answer, { status: 200, body: { user: { user_id: system.owner.user_id } } })
  t.match(session.answer.headers.get('set-cookie'), /HttpOnly/)

  const { cookie, csrf_token } = session
  const me = await send(`${api_url}/me`, { headers: { cookie } })
  t.match(me, { status: 200, body: { user_id: system.owner.user_id, username: 'owner' } })
  const vend = (headers: object) =>
    send(`${api_url}/endpoints`, {
      method: 'POST',
      headers: { cookie, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ agent: { name: 'from-a-browser' }, queues: ['inbox'] }),
    })
  t.match(await vend({}), { status: 403, body: { code: 'forbidden' } }, 'no CSRF token, no change')
  t.match(await vend({ 'x-csrf-token': csrf_token }), { status: 200, body: { token: /^agt_/ } })

  const again = await logIn(api_url, proof)
  t.match(again.answer, { status: 401, body: { code: 'unauthenticated' } }, 'the link is used up')
  await send(`${api_url}/logout`, {
    method: 'POST',
    headers: { cookie, 'x-csrf-token': csrf_token },
  })
  t.match(await send(`${api_url}/me`, { headers: { cookie } }), { status: 401 }, 'logged out')
})

t.test('an API token is the owner too, and a list shows no credential', async (t) => {
  const me = await owner.rest('GET', '/me')
  t.match(me, { status: 200, body: { username: 'owner' } })
  const vended = await owner.vend({ queues: ['inbox'] })
  t.match(vended.token, /^agt_[A-Za-z0-9_-]{43}$/)
  const listed = await owner.rest('GET', '/endpoints')
  t.match(listed.body, { endpoints: [{ endpoint_id: vended.endpoint.endpoint_id }] })
  t.notMatch(listed.text, vended.token, 'a credential is shown once')
})

interface Story {
  readonly owner: Owner
  readonly agent: Vended
  readonly worker: Worker
  readonly queue: string
}

const rings = ({ worker }: Story) => ringsOf(worker.notifications)

const heard = async ({ worker, queue }: Story, todo_id: string): Promise<void> => {
  const find = (method: string, wanted: object) =>
    worker.notifications.find(
      ({ method: name, params }) =>
        name === method && JSON.stringify(params).includes(JSON.stringify(wanted).slice(1, -1)),
    )
  await waitFor(
    () =>
      find(CHANNEL, { todo_id, queue }) && find(UPDATED, { uri: `guildhall://queues/${queue}` }),
    { what: `the doorbell for ${todo_id} in ${JSON.stringify(worker.notifications)}` },
  )
}

const worksOff = async (t: Test, story: Story, todo_id: string, body: string): Promise<void> => {
  const { worker, agent, queue } = story
  const claimed = await worker.call('claim_next', { queue, claimant: 'hand-1' })
  t.match(claimed, {
    empty: false,
    todo: { id: todo_id, queue, source: 'github', state: 'claimed', attempt: 1 },
    attempt_seq: 1,
    prior_attempts: [],
  })
  const { todo, lease_token } = claimed as { todo: { payload: unknown }; lease_token: string } // matched
  t.strictSame(todo.payload, JSON.parse(body), 'the payload came whole')
  const beat = await worker.call('heartbeat', { id: todo_id, lease_token, lease_ttl_seconds: 900 })
  t.match(beat, { id: todo_id, state: 'claimed' })
  const done = await worker.call('complete', {
    id: todo_id,
    lease_token,
    summary: 'reviewed',
    artifact: 'https://example.com/review/2',
    result: { approved: true },
  })
  t.match(done, { id: todo_id, state: 'done', dead_letter: false })
  const shown = await agent.call(getTodo, { id: todo_id })
  t.match(shown, {
    state: 'done',
    result: { approved: true },
    attempts_total: 1,
    attempts: [
      {
        seq: 1,
        claimant: 'hand-1',
        outcome: 'completed',
        disposition: 'done',
        died: false,
        summary: 'reviewed',
        artifact: 'https://example.com/review/2',
      },
    ],
  })
}

const deliversOnce = async (
  t: Test,
  { agent, queue }: Story,
  webhook: WebhookWithSecret,
  body: string,
): Promise<void> => {
  const again = accepted(await deliver(webhook, { body }))
  t.match(again, { created: 0, repeat: true }, 'A1 a repeated delivery creates nothing')
  const reworded = accepted(await deliver(webhook, { body, id: 'guid-of-a-replay' }))
  t.match(reworded, { created: 0, id: again.id }, 'A16 neither does a new delivery id')
  const forged = await deliver(webhook, { body, signature: signature('not-the-secret', body) })
  t.equal(forged.status, 401, 'A2 a forged delivery is refused')
  t.match(forged.body, { error: 'signature verification failed' })
  const { todos } = await agent.call(listTodos, { queue })
  t.equal(todos.length, 1, 'there is one todo')
}

const replays = async (t: Test, { agent, queue }: Story, todo_id: string, body: string) => {
  const event = await waitFor(
    async () => (await agent.call(listWebhookEvents, { provider: 'github' })).events[0],
    { what: 'the event in the history' },
  )
  t.match(event, { event_type: 'pull_request', trust_mode: 'signed', verified: true })
  const detail = await agent.call(getWebhookEvent, { id: event.id })
  t.match(detail, { todo_id, payload: body.slice(0, 1_000), payload_encoding: 'utf8' })
  t.equal(detail.headers['x-hub-signature-256'], '«redacted»')
  const replayed = await agent.call(replayWebhookEvent, { id: event.id, idempotency_key: 'r1' })
  t.match(replayed, { id: event.id, queue, created: true })
  t.not(replayed.todo_id, todo_id, 'a replay makes a todo of its own')
  const repeat = await agent.call(replayWebhookEvent, { id: event.id, idempotency_key: 'r1' })
  t.match(repeat, { todo_id: replayed.todo_id, created: false }, 'and its repeat does not')
  return replayed.todo_id
}

const tellStory = async (t: Test, story: Story): Promise<void> => {
  const { worker, queue } = story
  const names = await worker.toolNames()
  t.strictSame(names.slice(0, 4), ['claim_next', 'claim', 'heartbeat', 'complete'])
  const webhook = createWebhook.output.parse(
    await worker.call('create_webhook', { source_type: 'github', target_queue: queue }),
  )
  t.match(webhook, { trust_mode: 'signed', signing_secret: /^whsec_[0-9a-f]{64}$/ })

  const body = githubBody('pull_request', 'opened', queue)
  const first = accepted(await deliver(webhook, { body }))
  t.match(first, { created: 1, queue, verified: true, trust_mode: 'signed' })
  await heard(story, first.id)
  await deliversOnce(t, story, webhook, body)
  await worksOff(t, story, first.id, body)
  const late = accepted(await deliver(webhook, { body, id: 'guid-next-week' }))
  t.match(late, { created: 0, id: first.id }, 'A17 a redelivery after done creates no new todo')
  t.match(await worker.call('claim_next', { queue }), { empty: true })

  const replayed = await replays(t, story, first.id, body)
  await heard(story, replayed)
  // A todo that comes while a stream attaches may be rung twice, so as never to be missed.
  const rung = new Set(rings(story).map(({ meta }) => meta.todo_id))
  t.strictSame([...rung], [first.id, replayed], 'the doorbell rang for these two only')
  t.match(await worker.call('claim_next', { queue }), { todo: { id: replayed } })
}

t.test('vend to work, with the official client of the SDK', async (t) => {
  const queue = 'reviews-legacy'
  const agent = await owner.vend({ queues: [queue] })
  const worker = await legacyWorker(mcp_url, agent.token)
  t.teardown(() => worker.close())
  await tellStory(t, { owner, agent, worker, queue })
})

t.test('vend to work, with the official client in the era of 2026-07-28', async (t) => {
  const queue = 'reviews-modern'
  const agent = await owner.vend({ queues: [queue] })
  const worker = await modernWorker(mcp_url, agent.token, [`guildhall://queues/${queue}`])
  t.teardown(() => worker.close())
  t.equal(worker.era, 'modern')
  await tellStory(t, { owner, agent, worker, queue })
})
