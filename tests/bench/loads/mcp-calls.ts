import { drive, serveLoad } from '../load-process.ts'
import { type McpConnection, openMcp } from './mcp-connection.ts'

/** Tool calls over MCP, each worker on a connection (and, where there are any, a session) of its own. */

interface Connect {
  readonly url: string
  readonly bearer?: string
  readonly workers: number
}

interface Calls {
  readonly operations: number
  readonly tool: string
  readonly args: object
}

interface Claims {
  /** Calls, of which each todo takes two. */
  readonly operations: number
  readonly queue: string
}

interface Claimed {
  readonly empty: boolean
  readonly todo?: { readonly id: string }
  readonly lease_token?: string
}

let connections: readonly McpConnection[] = []

const connectionOf = (worker: number): McpConnection => {
  const connection = connections[worker]
  if (connection === undefined) throw new Error('connect first')
  return connection
}

const EMPTY_TRIES = 50

const claimOne = async (connection: McpConnection, queue: string): Promise<Claimed> => {
  for (let tried = 0; tried < EMPTY_TRIES; tried += 1) {
    const { structuredContent } = await connection.callTool('claim_next', { queue })
    const claimed = structuredContent as Claimed // its contract says so
    if (!claimed.empty) return claimed
  }
  throw new Error(`${queue} is empty`)
}

export const steps = {
  connect: async ({ url, bearer, workers }: Connect) => {
    connections = await Promise.all(
      Array.from({ length: workers }, () => openMcp(new URL(url), bearer)),
    )
  },
  calls: async ({ operations, tool, args }: Calls) =>
    await drive(operations, connections.length, async (worker) => {
      await connectionOf(worker).callTool(tool, args)
      return true
    }),
  /** Each worker claims at its even operations and completes at its odd ones. */
  claims: async ({ operations, queue }: Claims) => {
    const held = new Map<number, Claimed>()
    const round = await drive(operations, connections.length, async (worker) => {
      const connection = connectionOf(worker)
      const claimed = held.get(worker)
      if (claimed === undefined) {
        held.set(worker, await claimOne(connection, queue))
        return true
      }
      const { todo, lease_token } = claimed
      await connection.callTool('complete', { id: todo?.id, lease_token })
      held.delete(worker)
      return true
    })
    for (const [worker, { todo, lease_token }] of held) {
      await connectionOf(worker).callTool('complete', { id: todo?.id, lease_token })
    }
    return round
  },
}

export type McpCalls = typeof steps

serveLoad(steps)
