import { setTimeout as delay } from 'node:timers/promises'
import {
  claimNext,
  complete,
  createTodo,
  createWebhook,
  getTodo,
  heartbeat,
  listEndpoints,
  listTodos,
  listWebhookEvents,
} from '@guildhall/contracts'
import { type SystemService, waitFor } from '@guildhall/testing'
import t, { type Test } from 'tap'
import { mcpHeaders } from './support/agent.ts'
import { balancer } from './support/balancer.ts'
import { firstOwner } from './support/owner.ts'
import { runningSystem } from './support/running-system.ts'
import { accepted, deliver, githubBody, signature } from './support/webhook.ts'

/** What fails while a part is down, what does not, and that everything comes back by itself. */

const system = await runningSystem(t, {
  replicas: { approvals: 2, tasks: 2, 'mcp-gateway': 2, ingest: 2 },
  env: { 'mcp-gateway': { DRAIN_DELAY_MS: '500' }, ingest: { DRAIN_DELAY_MS: '500' } },
})
const owner = firstOwner(system)
const agent = await owner.vend({ queues: ['inbox'], webhook_max: 10 })
const webhook = await agent.call(createWebhook, { source_type: 'github', target_queue: 'inbox' })
const { nats, postgres, services } = system

const pids = (): number[] =>
  Object.values(services)
    .flat()
    .map(({ pid, running }) => (running ? pid : -1))

const add = async (title: string) => (await agent.call(createTodo, { queue: 'inbox', title })).id

/** Whether the call works by now; whatever else it says while things come back is no matter. */
const works = (call: () => Promise<unknown>) => async (): Promise<boolean> => {
  await call()
  return true
}

t.test('without the bus everybody is told to come back, and then can', async (t) => {
  const id = await add('from before')
  const before = pids()
  const missed = githubBody('issues', 'opened', 'while the bus is down')
  await nats.kill()

  const calls = [
    ['claim_next', { queue: 'inbox' }],
    ['list_todos', {}],
    ['create_webhook', { source_type: 'github', target_queue: 'inbox' }],
  ] as const
  const told = await Promise.all(calls.map(([name, args]) => agent.refused(name, args)))
  t.match(
    told,
    calls.map(() => ({ code: 'unavailable', retry_after_seconds: Number })),
  )
  const rest = await owner.rest('GET', '/todos')
  t.match(rest, { status: 503, body: { code: 'unavailable' } })
  t.match(rest.headers.get('retry-after'), /^\d+$/)
  const refused = await deliver(webhook, { body: missed, event: 'issues' })
  t.match(refused, { status: 503, body: { code: 'unavailable' } })
  t.match(refused.headers.get('retry-after'), /^\d+$/)

  await nats.restart()
  await waitFor(
    works(() => agent.call(listTodos, {})),
    { what: 'calls to work again' },
  )
  const retried = await waitFor(
    async () => accepted(await deliver(webhook, { body: missed, event: 'issues' })),
    { what: 'deliveries to be accepted again' },
  )
  t.match(retried, { created: 1 }, 'the retry of the provider is the first that counts')
  const first = await agent.call(claimNext, { queue: 'inbox', wait_seconds: 20 })
  t.equal(first.todo?.id, id, 'what was there before is still there')
  const second = await agent.call(claimNext, { queue: 'inbox', wait_seconds: 20 })
  t.equal(second.todo?.id, retried.id)
  for (const { todo } of [first, second]) await agent.call(complete, { id: todo?.id ?? '' })
  t.strictSame(await agent.call(claimNext, { queue: 'inbox' }), { empty: true })
  t.strictSame(pids(), before, 'nothing had to be restarted')
})

t.test('without PostgreSQL deliveries are taken and work goes on', async (t) => {
  const before = pids()
  const { events: known } = await owner.call(listWebhookEvents, { limit: 200 })
  await postgres.kill()

  const body = githubBody('issues', 'opened', 'while the database is down')
  const { id, created } = accepted(await deliver(webhook, { body, event: 'issues' }))
  t.equal(created, 1)
  const claimed = await agent.call(claimNext, { queue: 'inbox', wait_seconds: 20 })
  t.match(claimed, { todo: { id, payload: { marker: 'while the database is down' } } })
  const { lease_token } = claimed
  t.match(await agent.call(heartbeat, { id, lease_token }), { state: 'claimed' })
  const done = await agent.call(complete, { id, lease_token, summary: 'without a database' })
  t.match(done, { state: 'done' })
  t.match(accepted(await deliver(webhook, { body, event: 'issues' })), { created: 0, repeat: true })
  const listed = await agent.refused('list_todos')
  t.match(listed, { code: 'unavailable', retry_after_seconds: Number })
  const rest = await owner.rest('GET', '/todos')
  t.match(rest, { status: 503, body: { code: 'unavailable' } })
  t.match(rest.headers.get('retry-after'), /^\d+$/)

  await postgres.restart()
  const shown = await waitFor(
    async () => {
      const todo = await agent.call(getTodo, { id })
      return todo.attempts[0]?.outcome === 'completed' ? todo : undefined
    },
    { timeout_ms: 30_000, what: 'the history of the todo to catch up' },
  )
  t.match(shown, { state: 'done', attempts: [{ summary: 'without a database' }] })
  const event = await waitFor(
    async () => {
      const { events } = await owner.call(listWebhookEvents, { limit: 200 })
      return events.length === known.length + 1 ? events[0] : undefined
    },
    { timeout_ms: 30_000, what: 'the history of deliveries to catch up' },
  )
  t.match(event, {
    provider: 'github',
    event_type: 'issues',
    payload_size: Buffer.byteLength(body),
  })
  t.strictSame(pids(), before, 'nothing had to be restarted')
})

t.test('the only tasks process dies between claim and complete, and the lease holds', async (t) => {
  const [first, second] = services.tasks
  await second?.stop()
  const id = await add('interrupted')
  const { lease_token } = await agent.call(claimNext, { queue: 'inbox', wait_seconds: 20 })
  await first?.kill()
  const refused = await agent.refused('complete', { id, lease_token })
  t.match(refused, { code: 'unavailable', retry_after_seconds: Number })
  await first?.restart()
  const done = await agent.call(complete, { id, lease_token })
  t.match(done, { id, state: 'done', attempt: 1 })
  await second?.restart()
})

interface Tally {
  readonly failed: string[]
  readonly ids: string[]
}

/** Calls `once` again and again until told to stop; keeps what went wrong. */
const keepDoing = (once: (turn: number) => Promise<string>) => {
  const tally: Tally = { failed: [], ids: [] }
  let stopped = false
  const loop = async (): Promise<void> => {
    for (let turn = 0; !stopped; turn += 1) {
      try {
        tally.ids.push(await once(turn))
      } catch (error) {
        tally.failed.push(`turn ${turn}: ${error instanceof Error ? error.stack : error}`)
      }
    }
  }
  const running = loop()
  return async (): Promise<Tally> => {
    stopped = true
    await running
    return tally
  }
}

/** A person may make 20 calls a second: what is measured here is the restart, not that limit. */
const OWNER_PAUSE_MS = 60

const balanced = (t: Test, service: SystemService, urls: readonly string[]) => {
  const replicas = urls.map((url, i) => ({ url, ops_url: system.ops_urls[service][i] ?? '' }))
  const entrance = balancer(replicas)
  t.teardown(() => entrance.stop())
  return entrance
}

const restartInTurn = async (t: Test, service: SystemService): Promise<void> => {
  for (const replica of services[service]) {
    const started = performance.now()
    const { code } = await replica.stop({ deadline_ms: 20_000 })
    const took_ms = Math.round(performance.now() - started)
    t.equal(code, 0, `${replica.name} ended in good order within ${took_ms} ms`)
    await replica.restart()
  }
}

t.test('a rolling restart of every service fails no call and loses no delivery', async (t) => {
  const gateways = balanced(t, 'mcp-gateway', system.mcp_urls)
  const ingests = balanced(t, 'ingest', system.ingest_urls)
  const callTool = async (name: string, args: object): Promise<Record<string, unknown>> => {
    const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }
    const answer = await gateways.post(mcpHeaders(agent.token), JSON.stringify(rpc))
    const { result } = (answer.body ?? {}) as { result?: { structuredContent?: object } } // or it throws
    if (result?.structuredContent !== undefined) return { ...result.structuredContent }
    throw new Error(`${name}: ${answer.status} ${answer.text}`)
  }
  const stopCalls = keepDoing(async (turn) => {
    const { id } = await callTool('create_todo', { queue: 'inbox', title: `rolling ${turn}` })
    const { lease_token } = await callTool('claim', { id })
    await callTool('heartbeat', { id, lease_token })
    await callTool('complete', { id, lease_token })
    return `${id}`
  })
  const path = new URL(webhook.ingest_url).pathname
  const stopDeliveries = keepDoing(async (turn) => {
    const body = githubBody('issues', 'edited', `rolling ${turn}`)
    const headers = {
      'content-type': 'application/json',
      'x-github-event': 'issues',
      'x-hub-signature-256': signature(webhook.signing_secret ?? '', body),
    }
    const { id, created } = accepted(await ingests.post(headers, body, path))
    if (created !== 1) throw new Error(`${id} was there already`)
    return id
  })

  // While the gateways stand: the owner talks to one of them.
  const stopOwner = keepDoing(async () => {
    await delay(OWNER_PAUSE_MS)
    return `${(await owner.call(listEndpoints, {})).endpoints.length}`
  })
  await restartInTurn(t, 'approvals')
  const managed = await stopOwner()
  t.strictSame(managed.failed, [], `none of ${managed.ids.length} calls of the owner failed`)
  t.ok(managed.ids.length > 10, 'there was something to fail')
  for (const service of ['tasks', 'mcp-gateway', 'ingest'] as const) await restartInTurn(t, service)
  const calls = await stopCalls()
  const deliveries = await stopDeliveries()
  t.strictSame(calls.failed, [], `none of ${calls.ids.length} rounds of calls failed`)
  t.strictSame(deliveries.failed, [], `none of ${deliveries.ids.length} deliveries failed`)
  t.ok(calls.ids.length > 10 && deliveries.ids.length > 10, 'there was something to fail')

  const claimed: string[] = []
  const drain = async (): Promise<void> => {
    for (;;) {
      const { todo } = await agent.call(claimNext, { queue: 'inbox', wait_seconds: 2 })
      if (todo === undefined) return
      claimed.push(todo.id)
    }
  }
  await Promise.all(Array.from({ length: 8 }, drain))
  t.strictSame(claimed.sort(), [...deliveries.ids].sort(), 'each delivery is one todo')
})
