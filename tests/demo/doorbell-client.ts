import { waitFor } from '@guildhall/testing'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'

/** The official client of the MCP SDK, attached and listening, as an agent's host would run it. */

interface Heard {
  readonly todo_id: string
  readonly content: string
  readonly at_ms: number
}

export interface DoorbellClient {
  readonly server: string
  readonly protocol: string
  readonly tools: readonly string[]
  /** The ring for a todo, counted from 1. */
  ring(todo_id: string, count: number): Promise<Heard>
  close(): Promise<void>
}

const CHANNEL = 'notifications/claude/channel'
const RING_TIMEOUT_MS = 10_000

export const connectClient = async (mcp_url: string, token: string): Promise<DoorbellClient> => {
  const client = new Client({ name: 'guildhall-demo', version: '1.0.0' })
  const heard: Heard[] = []
  client.fallbackNotificationHandler = async ({ method, params }) => {
    if (method !== CHANNEL) return
    const { content, meta } = params as { content: string; meta: { todo_id: string } } // by contract
    heard.push({ todo_id: meta.todo_id, content, at_ms: performance.now() })
  }
  const transport = new StreamableHTTPClientTransport(new URL(mcp_url), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  })
  // The SDK's own types disagree under exactOptionalPropertyTypes (sessionId).
  await client.connect(transport as Transport)
  const { tools } = await client.listTools()
  const { name = '', version = '' } = client.getServerVersion() ?? {}
  return {
    server: `${name} ${version}`,
    protocol: transport.protocolVersion ?? 'unknown',
    tools: tools.map((tool) => tool.name),
    ring: (todo_id, count) =>
      waitFor(() => heard.filter((ring) => ring.todo_id === todo_id)[count - 1], {
        timeout_ms: RING_TIMEOUT_MS,
        what: `ring ${count} for ${todo_id}`,
      }),
    close: () => client.close(),
  }
}
