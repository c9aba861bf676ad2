import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tools } from '@guildhall/contracts'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { z } from 'zod'

/**
 * What is compared against: the official server with its own transport and its defaults, sessions
 * in memory, and an echo. It offers as many tools as we do, with the same schemas, but asks nobody
 * who they are. Arguments: port, number of tools.
 */

const [port = '0', tool_count = '1'] = process.argv.slice(2)

const createEcho = (): McpServer => {
  const server = new McpServer({ name: 'echo', version: '1.0.0' })
  server.registerTool(
    'echo',
    { description: 'Say it again.', inputSchema: { message: z.string() } },
    ({ message }) => ({ content: [{ type: 'text', text: message }] }),
  )
  for (const { name, summary, input } of tools.slice(0, Number(tool_count) - 1)) {
    server.registerTool(name, { description: summary, inputSchema: input }, () => ({ content: [] }))
  }
  return server
}

const sessions = new Map<string, StreamableHTTPServerTransport>()

const openSession = async (): Promise<StreamableHTTPServerTransport> => {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => {
      sessions.set(id, transport)
    },
  })
  // Its optional callbacks may be undefined, which the interface with exact types does not say.
  await createEcho().connect(transport as Parameters<McpServer['connect']>[0])
  return transport
}

const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const id = request.headers['mcp-session-id']
  const transport = typeof id === 'string' ? sessions.get(id) : await openSession()
  if (transport === undefined) {
    response.writeHead(404).end()
    return
  }
  await transport.handleRequest(request, response)
}

createServer((request, response) => {
  void handle(request, response)
}).listen(Number(port), '127.0.0.1', () => console.log('echo listens'))
