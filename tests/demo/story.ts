import { randomBytes, randomUUID } from 'node:crypto'
import {
  type Attempt,
  claimNext,
  complete,
  createWebhook,
  deleteWebhook,
  getTodo,
  heartbeat,
  revokeEndpoint,
  vendEndpoint,
  type WebhookWithSecret,
} from '@guildhall/contracts'
import { type Agent, agentAt } from './agent.ts'
import { expect } from './demo-stopped.ts'
import type { RunningSystem } from './dev-file.ts'
import { type DoomedWorker, startDoomedWorker } from './doomed-worker.ts'
import { connectClient, type DoorbellClient } from './doorbell-client.ts'
import { deliver, type GithubEvent, githubEvent } from './github.ts'
import { type Owner, ownerAt } from './owner.ts'
import type { Answer } from './request.ts'
import type { Terminal } from './terminal.ts'

/** The story, step by step: work comes in, is done; a worker dies, and nothing is lost or doubled. */

const LEASE_SECONDS = 3

interface Stage {
  readonly say: Terminal
  readonly system: RunningSystem
  readonly owner: Owner
  readonly queue: string
  /** Whatever is made adds here how it is unmade. */
  readonly made: (() => Promise<unknown>)[]
}

interface Cast extends Stage {
  readonly agent: Agent
  readonly token: string
  readonly secret: string
  readonly client: DoorbellClient
  readonly webhook: WebhookWithSecret
}

const short = (id: string): string => (id.length > 16 ? `${id.slice(0, 15)}…` : id)
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`

const vend = async ({ say, owner, queue, made }: Stage): Promise<string> => {
  say.step('The owner vends an endpoint')
  say.asked('POST /api/endpoints', `{agent: {name: "demo-agent"}, queues: ["${queue}"]}`)
  const { endpoint, token } = await owner.call(vendEndpoint, {
    agent: { name: 'demo-agent' },
    name: 'make demo',
    queues: [queue],
  })
  const { endpoint_id, tools } = endpoint
  made.push(() => owner.call(revokeEndpoint, { endpoint_id }))
  say.answered('200', `${short(endpoint_id)}  token ${token.slice(0, 12)}…  ${tools.length} tools`)
  say.meaning(
    'An endpoint is one credential with a scope: these tools, this queue, this many webhooks. It is shown once and stored as a hash.',
  )
  return token
}

const attach = async ({ say, system, made }: Stage, token: string): Promise<DoorbellClient> => {
  say.step('An agent attaches with the official MCP client')
  say.asked('initialize, tools/list', system.mcp_url)
  const client = await connectClient(system.mcp_url, token)
  made.push(() => client.close())
  const { server, protocol, tools } = client
  say.answered(server, `protocol ${protocol}  ${tools.slice(0, 4).join(', ')}, …`)
  say.meaning('It now listens. There is no session to lose: any replica serves any request.')
  return client
}

const makeWebhook = async (stage: Stage, agent: Agent): Promise<WebhookWithSecret> => {
  const { say, queue, made } = stage
  say.step('The agent creates a webhook for GitHub')
  say.asked('create_webhook', `{source_type: "github", target_queue: "${queue}"}`)
  const webhook = await agent.call(createWebhook, { source_type: 'github', target_queue: queue })
  const { webhook_id, ingest_url, signing_secret = '' } = webhook
  made.push(() => agent.call(deleteWebhook, { webhook_id }))
  say.answered(
    short(webhook_id),
    `secret ${signing_secret.slice(0, 10)}…  ${ingest_url.slice(0, -24)}…`,
  )
  say.meaning('An agent can do this alone, inside the ceiling that its owner set.')
  return webhook
}

const showAccepted = (say: Terminal, { status, body }: Answer): void => {
  const { id, created, repeat } = body
  const repeated = repeat === true ? '  repeat: true' : ''
  say.answered(`${status}`, `created: ${created}${repeated}  ${short(`${id}`)}`)
}

const deliverFirst = async (
  { say, webhook, secret }: Cast,
  event: GithubEvent,
): Promise<string> => {
  const kilobytes = (event.body.length / 1_024).toFixed(1)
  say.asked('POST /webhooks/w/…', `x-github-event: ${event.event}, signed, ${kilobytes} KiB`)
  const answer = await deliver(webhook, event, secret, randomUUID())
  expect(answer.status === 202 && answer.body.created === 1, 'one new todo', answer)
  showAccepted(say, answer)
  return `${answer.body.id}`
}

const workIsDone = async (cast: Cast, event: GithubEvent): Promise<string> => {
  const { say, agent, client, queue } = cast
  say.step('GitHub delivers a signed event')
  const id = await deliverFirst(cast, event)
  say.meaning(
    '202 comes only after the event is on disk. The database may be down: it is not asked.',
  )

  say.step('The doorbell rings at the attached agent')
  const ring = await client.ring(id, 1)
  say.happened(`notifications/claude/channel  ${short(id)}`)
  say.quoted(ring.content.split('\n').slice(0, 3))
  say.meaning('A ring is only a hint, and carries no payload. The queue is the record.')

  say.step('It claims the todo, and gets the payload')
  say.asked('claim_next', `{queue: "${queue}", claimant: "worker 1"}`)
  const claimed = await agent.call(claimNext, { queue, claimant: 'worker 1', wait_seconds: 10 })
  const { todo, lease_token = '', fence } = claimed
  expect(todo?.id === id, `the claim of ${id}`, claimed)
  say.answered('claimed', `fence ${fence}  until ${todo?.lease_expires_at}  "${todo?.title}"`)
  say.meaning(
    'A claim is a lease with a token and a growing fence: one holder at a time, whatever fails.',
  )

  say.step('It sends a heartbeat while it works')
  say.asked('heartbeat', `{id, lease_token, lease_ttl_seconds: 600}`)
  const row = await agent.call(heartbeat, { id, lease_token, lease_ttl_seconds: 600 })
  say.answered(row.state, `until ${row.lease_expires_at}`)
  say.meaning('Slow work keeps its lease by saying that it lives.')

  say.step('It completes the todo')
  say.asked('complete', '{id, lease_token, summary: "reviewed", result: {approved: true}}')
  const done = await agent.call(complete, {
    id,
    lease_token,
    summary: 'reviewed',
    result: { approved: true },
  })
  expect(done.state === 'done', 'the todo to be done', done)
  say.answered(done.state, `attempt ${done.attempt} of at most ${done.max_attempts}`)
  say.meaning('The history keeps who did it, when, and what they said.')
  return id
}

const workerDies = async (cast: Cast): Promise<DoomedWorker> => {
  const { say, system, token, queue } = cast
  say.step('More work comes, and the worker that takes it is killed')
  const id = await deliverFirst(cast, githubEvent('issues', 'opened'))
  say.asked('claim_next', `{lease_ttl_seconds: ${LEASE_SECONDS}}, by a process of its own`)
  const { mcp_url } = system
  const orders = { mcp_url, token, queue, lease_seconds: LEASE_SECONDS }
  const worker = await startDoomedWorker(orders)
  expect(worker.id === id, `the worker process to claim ${id}`, worker.id)
  say.answered('claimed', `${short(id)} by process ${worker.pid}`)
  await worker.kill()
  say.happened(`kill -9 ${worker.pid}`)
  say.meaning('It dies with the work in its hands: no release, no last words. Nobody is told.')
  return worker
}

const attemptRows = (attempts: readonly Attempt[]): string[][] =>
  [...attempts]
    .reverse()
    .map(({ seq, claimant, outcome, died, summary }) => [
      `${seq}`,
      claimant ?? '',
      outcome ?? 'open',
      died ? 'yes' : 'no',
      summary ?? '',
    ])

const ATTEMPT_HEADER = ['claim', 'worker', 'outcome', 'died', 'summary']

const workIsTakenOver = async (cast: Cast, dead: DoomedWorker, killed_at_ms: number) => {
  const { say, agent, client, queue } = cast
  const { id } = dead
  say.step('Its lease lapses, and the doorbell rings again')
  const ring = await client.ring(id, 2)
  say.happened(
    `notifications/claude/channel  ${short(id)}, ${seconds(ring.at_ms - killed_at_ms)} after the kill`,
  )
  say.meaning('Nobody had to notice the crash: the lease is a timer in the bus itself.')

  say.step('Another worker takes over, and sees what happened')
  say.asked('claim_next', `{queue: "${queue}", claimant: "worker 2"}`)
  const taken = await agent.call(claimNext, { queue, claimant: 'worker 2', wait_seconds: 10 })
  const { todo, lease_token = '', fence, prior_attempts = [] } = taken
  expect(todo?.id === id, `the claim of ${id}`, taken)
  expect(prior_attempts[0]?.died === true, 'the attempt before to have died', prior_attempts)
  say.answered('claimed', `attempt ${todo?.attempt}  fence ${fence}  prior_attempts:`)
  say.table(ATTEMPT_HEADER, attemptRows(prior_attempts))
  say.meaning('It knows that one died on this before it, and can look for half-done work first.')

  say.step('The late worker wakes up and wants to complete')
  say.asked('complete', 'with the lease_token of the first claim')
  const late = await agent.refused(complete, { id, lease_token: dead.lease_token })
  expect(late.code === 'conflict', 'a conflict for the late worker', late)
  say.refused(late.code, late.what_to_do)
  say.meaning('Had it only been asleep: it is refused and told what to do. One result, not two.')

  say.asked('complete', 'by worker 2, with the lease_token of the second claim')
  const done = await agent.call(complete, { id, lease_token, summary: 'took over and finished' })
  expect(done.state === 'done', 'the todo to be done', done)
  say.answered(done.state, `attempt ${done.attempt}`)
}

const strangersKnock = async (cast: Cast, first: string, event: GithubEvent): Promise<void> => {
  const { say, webhook, secret } = cast
  say.step('The first delivery is replayed, with a fresh delivery id')
  say.asked('POST /webhooks/w/…', 'the same signed body, x-github-delivery: a new one')
  const replayed = await deliver(webhook, event, secret, randomUUID())
  const { created, id } = replayed.body
  expect(created === 0 && id === first, 'the replay to create nothing', replayed)
  showAccepted(say, replayed)
  say.meaning('The header is not signed, the body is: what was done last week stays done.')

  say.step('Somebody forges a delivery')
  say.asked('POST /webhooks/w/…', 'signed with a secret that is a guess')
  const forged = await deliver(webhook, event, 'a-guess', randomUUID())
  expect(forged.status === 401, '401 for the forged delivery', forged)
  say.refused(`${forged.status}`, `${forged.body.error}`)
  say.meaning('Nothing is stored, and the answer does not say what was wrong with it.')
}

const closing = async ({ say, owner }: Cast, ids: readonly string[]): Promise<void> => {
  say.step('What is left of it')
  say.asked('GET /api/todos/{id}', 'as the owner, for both')
  const todos = await Promise.all(ids.map((id) => owner.call(getTodo, { id })))
  for (const todo of todos) {
    expect(todo.state === 'done', `${todo.id} to be done`, todo)
    say.answered(todo.state, `"${todo.title}"`)
    say.table(ATTEMPT_HEADER, attemptRows(todo.attempts))
  }
  say.meaning('Two events in, two todos done, one crash, nothing lost, nothing done twice.')
}

export const tellStory = async (
  say: Terminal,
  system: RunningSystem,
  made: Stage['made'],
): Promise<void> => {
  const owner = ownerAt(system.api_url, system.api_token)
  const queue = `demo-${randomBytes(3).toString('hex')}`
  const stage: Stage = { say, system, owner, queue, made }
  const token = await vend(stage)
  const agent = agentAt(system.mcp_url, token)
  const client = await attach(stage, token)
  const webhook = await makeWebhook(stage, agent)
  const { signing_secret: secret = '' } = webhook
  const cast: Cast = { ...stage, agent, token, secret, client, webhook }
  const event = githubEvent('pull_request', 'opened')
  const first = await workIsDone(cast, event)
  const dead = await workerDies(cast)
  await workIsTakenOver(cast, dead, performance.now())
  await strangersKnock(cast, first, event)
  await closing(cast, [first, dead.id])
}
