import type { Notification } from '@guildhall/testing'
import {
  Client as NewClient,
  StreamableHTTPClientTransport as NewTransport,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { CHANNEL, UPDATED } from './event-stream.ts'

/** The official clients of both lines, behind the few things that a worker does with one. */

export interface Worker {
  readonly era: string
  readonly notifications: readonly Notification[]
  toolNames(): Promise<string[]>
  /** structuredContent of the result; throws when the tool refused. */
  call(name: string, args: object): Promise<Record<string, unknown>>
  close(): Promise<void>
}

interface Result {
  readonly isError?: boolean | undefined
  readonly structuredContent?: Record<string, unknown> | undefined
}

const info = { name: 'worker', version: '1.0.0' }
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

const outputOf = (name: string, { isError, structuredContent }: Result, content: unknown) => {
  if (isError === true || structuredContent === undefined) {
    throw new Error(`${name} was refused: ${JSON.stringify(content)}`)
  }
  return structuredContent
}

/** @modelcontextprotocol/sdk 1.x: attaches by itself, and hears everything. */
export const legacyWorker = async (url: string, token: string): Promise<Worker> => {
  const client = new Client(info)
  const notifications: Notification[] = []
  client.fallbackNotificationHandler = async (notification) => {
    notifications.push(notification as Notification) // the same shape
  }
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: bearer(token) })
  // The SDK's own types disagree under exactOptionalPropertyTypes (sessionId).
  await client.connect(transport as Transport)
  return {
    era: 'legacy',
    notifications,
    toolNames: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args) => {
      const result = CallToolResultSchema.parse(
        await client.callTool({ name, arguments: { ...args } }),
      )
      return outputOf(name, result, result.content)
    },
    close: () => client.close(),
  }
}

/** @modelcontextprotocol/client 2.x, held to 2026-07-28: hears what it names. */
export const modernWorker = async (
  url: string,
  token: string,
  resources: readonly string[],
): Promise<Worker> => {
  const client = new NewClient(info, {
    versionNegotiation: { mode: { pin: '2026-07-28' } },
    capabilities: { experimental: { 'claude/channel': {} } },
  })
  const notifications: Notification[] = []
  client.setNotificationHandler(UPDATED, (notification) => {
    notifications.push(notification as Notification) // the same shape
  })
  client.fallbackNotificationHandler = async (notification) => {
    if (notification.method === CHANNEL) notifications.push(notification as Notification) // as above
  }
  await client.connect(new NewTransport(new URL(url), { requestInit: bearer(token) }))
  await client.listen({ resourceSubscriptions: [...resources] })
  return {
    era: client.getProtocolEra() ?? 'unknown',
    notifications,
    toolNames: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args) => {
      const result = await client.callTool({ name, arguments: { ...args } })
      return outputOf(name, result as Result, result.content) // content stays as it came
    },
    close: () => client.close(),
  }
}
