import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { publishCore } from '@guildhall/bus'
import { claimNext, subjects } from '@guildhall/contracts'
import { waitFor } from '@guildhall/testing'
import { Client as NewClient } from '@modelcontextprotocol/client'
import { StdioClientTransport as NewStdioTransport } from '@modelcontextprotocol/client/stdio'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import t from 'tap'
import { LineSplitter, LineTooLong } from '../src/bridge/lines.ts'
import { protocolHeaders, readOutgoing } from '../src/bridge/message.ts'
import { type Fixture, setup } from './support/gateway.ts'
import { ringFor, todoRow } from './support/todos.ts'

const BRIDGE = fileURLToPath(new URL('../src/stdio-bridge.js', import.meta.url))

const server = (f: Fixture, token: string) => ({
  command: process.execPath,
  args: [BRIDGE],
  env: { GUILDHALL_MCP_URL: f.mcp_url, GUILDHALL_TOKEN: token },
  stderr: 'pipe' as const,
})

t.test('the stdio client of sdk 1.x works through the bridge, rings included', async (t) => {
  const f = await setup(t)
  const { token, endpoint } = await f.vend()
  f.tasks.on(claimNext, () => ({ empty: true }))
  const client = new Client({ name: 'judge', version: '1.0.0' })
  t.teardown(() => client.close())
  const updated: string[] = []
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
    updated.push(params.uri)
  })
  await client.connect(new StdioClientTransport(server(f, token)))
  t.equal(client.getServerVersion()?.name, 'guildhall')
  t.equal((await client.listTools()).tools[0]?.name, 'claim_next')
  const result = await client.callTool({ name: 'claim_next', arguments: {} })
  t.strictSame(result.structuredContent, { empty: true })
  await t.rejects(client.callTool({ name: 'none', arguments: {} }), { code: -32_602 })

  await f.attached(1)
  publishCore(f.bus, subjects.doorbell(endpoint.user_id, 'inbox'), ringFor(todoRow()))
  await waitFor(() => updated.length === 1, { what: 'the ring' })
  t.strictSame(updated, ['guildhall://queues/inbox'])
  // A gateway that goes away is found again.
  await f.gateway.doorbell.stop()
  await f.gateway.doorbell.start()
  await f.attached(1)
})

t.test('the stdio client of 2.x speaks the newer era through the bridge', async (t) => {
  const f = await setup(t)
  const { token, endpoint } = await f.vend()
  const client = new NewClient(
    { name: 'judge', version: '1.0.0' },
    { versionNegotiation: { mode: 'auto' } },
  )
  t.teardown(() => client.close())
  await client.connect(new NewStdioTransport(server(f, token)))
  t.equal(client.getProtocolEra(), 'modern')
  const lease = await client.callTool({ name: 'get_default_lease', arguments: {} })
  t.match(lease.structuredContent, { effective_lease_ttl_seconds: 300 })
  const updated: string[] = []
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
    updated.push(params.uri)
  })
  const uri = 'guildhall://queues/inbox'
  const subscription = await client.listen({ resourceSubscriptions: [uri] })
  await f.attached(1)
  publishCore(f.bus, subjects.doorbell(endpoint.user_id, 'inbox'), ringFor(todoRow()))
  await waitFor(() => updated.length === 1, { what: 'the ring' })
  t.strictSame(updated, [uri])
  await subscription.close()
  await f.attached(0)
})

interface Conversation {
  readonly lines: string[]
  readonly errors: string[]
  say(line: string): void
  end(): Promise<number | null>
}

const converse = (env: Record<string, string>): Conversation => {
  const child = spawn(process.execPath, [BRIDGE], { env, stdio: 'pipe' })
  const lines: string[] = []
  const errors: string[] = []
  const splitter = new LineSplitter(1_000_000)
  child.stdout.on('data', (chunk: Buffer) => lines.push(...splitter.push(chunk)))
  child.stderr.on('data', (chunk: Buffer) => errors.push(String(chunk)))
  const exited = once(child, 'exit')
  return {
    lines,
    errors,
    say: (line) => void child.stdin.write(`${line}\n`),
    end: async () => {
      child.stdin.end()
      const [code] = await exited
      return code
    },
  }
}

t.test('a wrong credential and a broken line are answered, not swallowed', async (t) => {
  const f = await setup(t)
  const bridge = converse({ GUILDHALL_MCP_URL: f.mcp_url, GUILDHALL_TOKEN: 'agt_not-a-live-one' })
  bridge.say('{"jsonrpc":')
  bridge.say(JSON.stringify({ jsonrpc: '2.0', id: 5, method: 'tools/list' }))
  await waitFor(() => bridge.lines.length === 2, { what: 'two answers' })
  t.match(JSON.parse(bridge.lines[0] ?? ''), { id: null, error: { code: -32_700 } })
  t.match(JSON.parse(bridge.lines[1] ?? ''), {
    id: 5,
    error: { message: /401/, data: { code: 'unauthenticated' } },
  })
  t.equal(await bridge.end(), 0)
  t.notMatch(bridge.errors.join(''), 'agt_not-a-live-one')
})

t.test('without a token it says what is missing', async (t) => {
  const bridge = converse({})
  t.equal(await bridge.end(), 2)
  t.match(bridge.errors.join(''), 'GUILDHALL_TOKEN')
})

t.test('lines come together from any chunks', (t) => {
  const splitter = new LineSplitter(20)
  const euro = Buffer.from('a€\r\nb\n')
  t.strictSame(splitter.push(euro.subarray(0, 2)), [])
  t.strictSame(splitter.push(euro.subarray(2)), ['a€', 'b'])
  t.throws(() => splitter.push(Buffer.from('x'.repeat(21))), LineTooLong)
  t.end()
})

t.test('headers follow from the message', (t) => {
  const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
  const message = (name: unknown) => ({
    id: 1,
    method: 'tools/call',
    params: { name, _meta: meta },
  })
  const headers = (name: unknown) => protocolHeaders(readOutgoing(message(name)), '2025-11-25')
  t.strictSame(headers('claim'), {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'claim',
  })
  t.equal(headers('naïve')['mcp-name'], '=?base64?bmHDr3Zl?=')
  t.equal(headers(' x')['mcp-name'], '=?base64?IHg=?=')
  t.equal(headers('=?base64?x?=')['mcp-name'], `=?base64?${btoa('=?base64?x?=')}?=`)
  t.equal('mcp-name' in headers(7), false)
  t.strictSame(protocolHeaders(readOutgoing({ method: 'ping' }), '2025-11-25'), {
    'mcp-protocol-version': '2025-11-25',
  })
  t.strictSame(protocolHeaders(readOutgoing([]), undefined), {})
  t.end()
})
