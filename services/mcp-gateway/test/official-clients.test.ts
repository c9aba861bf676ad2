import { publishCore } from '@guildhall/bus'
import {
  claimNext,
  defaultGrants,
  describeDefaultLease,
  grantOf,
  listTodos,
  setDefaultLease,
  subjects,
  tools,
} from '@guildhall/contracts'
import { waitFor } from '@guildhall/testing'
import {
  Client as NewClient,
  StreamableHTTPClientTransport as NewTransport,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import t, { type Test } from 'tap'
import { type Fixture, setup, type Vended } from './support/gateway.ts'
import { claimedTodo, ringFor, todoRow } from './support/todos.ts'

/** The clients of both SDK lines are the judges of what we speak. */

const info = { name: 'judge', version: '1.0.0' }
const bearer = ({ token }: Vended) => ({ headers: { authorization: `Bearer ${token}` } })

const { lease_token, fence, attempt_seq, attempts_total, prior_attempts, ...todo } = claimedTodo()
const claimed = {
  empty: false,
  todo,
  lease_token,
  fence,
  attempt_seq,
  attempts_total,
  prior_attempts,
}

const prepared = async (t: Test): Promise<{ f: Fixture; vended: Vended }> => {
  const f = await setup(t)
  f.tasks.on(claimNext, () => claimed)
  f.tasks.on(listTodos, () => ({ todos: [todoRow()] }))
  return { f, vended: await f.vend({ queues: ['inbox', 'builds'] }) }
}

const oldClient = async (t: Test, f: Fixture, vended: Vended): Promise<Client> => {
  const client = new Client(info)
  const transport = new StreamableHTTPClientTransport(new URL(f.mcp_url), {
    requestInit: bearer(vended),
  })
  // The SDK's own types disagree under exactOptionalPropertyTypes (sessionId).
  await client.connect(transport as Transport)
  t.teardown(() => client.close())
  return client
}

const newClient = async (
  t: Test,
  f: Fixture,
  vended: Vended,
  mode: 'legacy' | 'auto' | { pin: string },
): Promise<NewClient> => {
  const client = new NewClient(info, { versionNegotiation: { mode } })
  await client.connect(new NewTransport(new URL(f.mcp_url), { requestInit: bearer(vended) }))
  t.teardown(() => client.close())
  return client
}

t.test('the client of sdk 1.x lists, calls, reads and is notified', async (t) => {
  const { f, vended } = await prepared(t)
  const client = await oldClient(t, f, vended)
  t.equal(client.getServerVersion()?.name, 'guildhall')
  t.match(client.getInstructions(), /heartbeat/)

  const listed = await client.listTools()
  t.strictSame(
    listed.tools.map(({ name }) => name),
    tools.filter((op) => defaultGrants.includes(grantOf(op))).map(({ name }) => name),
  )
  // The client checks structuredContent against the output schema that it listed.
  const result = await client.callTool({ name: 'claim_next', arguments: { queue: 'inbox' } })
  t.strictSame(result.structuredContent, claimed)

  const { resources } = await client.listResources()
  t.strictSame(
    resources.map(({ uri }) => uri),
    ['guildhall://queues/inbox', 'guildhall://queues/builds', 'guildhall://events/recent'],
  )
  const read = await client.readResource({ uri: 'guildhall://queues/inbox' })
  t.match(read.contents[0], { uri: 'guildhall://queues/inbox', mimeType: 'application/json' })
  t.strictSame(await client.ping(), {})

  const updated: string[] = []
  let tools_changed = 0
  const other: { method: string }[] = []
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
    updated.push(params.uri)
  })
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
    tools_changed += 1
  })
  client.fallbackNotificationHandler = async (notification) => {
    other.push(notification)
  }
  t.strictSame(await client.subscribeResource({ uri: 'guildhall://queues/builds' }), {})
  await f.attached(1)
  const row = todoRow({ queue: 'builds' })
  await f.bus.nc.flush()
  publishCore(f.bus, subjects.doorbell(vended.endpoint.user_id, 'builds'), ringFor(row))
  await waitFor(() => updated.length === 1 && other.length === 1, { what: 'the ring' })
  t.strictSame(updated, ['guildhall://queues/builds'])
  t.match(other[0], {
    method: 'notifications/claude/channel',
    params: { meta: { todo_id: row.id, queue: 'builds' } },
  })
  await f.edit(vended.endpoint, { default_lease_ttl_seconds: 2_700 })
  await waitFor(() => tools_changed === 1, { what: 'tools/list_changed' })
})

t.test('the client of 2.x in its older era works the same', async (t) => {
  const { f, vended } = await prepared(t)
  const client = await newClient(t, f, vended, 'legacy')
  t.equal(client.getProtocolEra(), 'legacy')
  t.equal((await client.listTools()).tools[0]?.name, 'claim_next')
  const result = await client.callTool({ name: 'claim_next', arguments: {} })
  t.strictSame(result.structuredContent, claimed)
  const refused = await client.callTool({ name: 'retry_todo', arguments: { id: todo.id } })
  t.equal(refused.isError, true)
})

t.test('the client of 2.x finds the newer era by itself, calls, and listens', async (t) => {
  const { f, vended } = await prepared(t)
  const client = await newClient(t, f, vended, 'auto')
  t.equal(client.getProtocolEra(), 'modern')
  t.equal(client.getServerVersion()?.name, 'guildhall')
  t.match(client.getInstructions(), /heartbeat/)
  t.equal((await client.listTools()).tools[0]?.name, 'claim_next')
  const result = await client.callTool({ name: 'claim_next', arguments: { queue: 'inbox' } })
  t.strictSame(result.structuredContent, claimed)
  const read = await client.readResource({ uri: 'guildhall://queues/inbox' })
  t.match(read.contents[0], { uri: 'guildhall://queues/inbox' })
  await t.rejects(client.readResource({ uri: 'guildhall://queues/other' }), { code: -32_602 })
  await t.rejects(client.callTool({ name: 'no_such_tool', arguments: {} }), { code: -32_602 })

  const updated: string[] = []
  let tools_changed = 0
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
    updated.push(params.uri)
  })
  client.setNotificationHandler('notifications/tools/list_changed', () => {
    tools_changed += 1
  })
  const subscription = await client.listen({
    toolsListChanged: true,
    promptsListChanged: true,
    resourceSubscriptions: ['guildhall://queues/inbox', 'guildhall://queues/other'],
  })
  t.strictSame(subscription.honoredFilter, {
    toolsListChanged: true,
    resourceSubscriptions: ['guildhall://queues/inbox'],
  })
  const { user_id } = vended.endpoint
  await f.attached(1)
  publishCore(f.bus, subjects.doorbell(user_id, 'builds'), ringFor(todoRow({ queue: 'builds' })))
  publishCore(f.bus, subjects.doorbell(user_id, 'inbox'), ringFor(todoRow()))
  await waitFor(() => updated.length > 0, { what: 'the ring' })
  t.strictSame(updated, ['guildhall://queues/inbox'])
  await f.edit(vended.endpoint, { default_lease_ttl_seconds: 2_700 })
  await waitFor(() => tools_changed === 1, { what: 'tools/list_changed' })
  await f.gateway.doorbell.stop()
  t.equal(await subscription.closed, 'graceful')
})

t.test('a client pinned to 2026-07-28 sets the default lease and reads it back', async (t) => {
  const { f, vended } = await prepared(t)
  f.approvals.on(setDefaultLease, async (_ctx, { default_lease_ttl_seconds }) => {
    await f.edit(vended.endpoint, { default_lease_ttl_seconds })
    return describeDefaultLease(default_lease_ttl_seconds)
  })
  const client = await newClient(t, f, vended, { pin: '2026-07-28' })
  const args = { default_lease_ttl_seconds: 1_800 }
  await client.callTool({ name: 'set_default_lease', arguments: args })
  const lease = await client.callTool({ name: 'get_default_lease', arguments: {} })
  t.match(lease.structuredContent, { effective_lease_ttl_seconds: 1_800 })
})
