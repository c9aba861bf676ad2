import { setTimeout as delay } from 'node:timers/promises'
import {
  type AgentPrincipal,
  buckets,
  type Endpoint,
  laneConsumer,
  streams,
  type WebhookWithSecret,
} from '@guildhall/contracts'
import {
  type NatsOptions,
  type System,
  type SystemOptions,
  startSystem,
  waitFor,
} from '@guildhall/testing'
import { connect, type JetStreamManager, type NatsConnection } from 'nats'
import { openMcp } from './loads/mcp-connection.ts'

/** The system under test: real processes, with limits that stay out of the way. */

export const QUEUES = ['rpc', 'mcp', 'hooks', 'rings', 'jobs', 'shallow', 'deep'] as const
export type Queue = (typeof QUEUES)[number]

export interface GuildhallOptions {
  readonly nats?: NatsOptions
  /** Environment of every service, for the profiler. */
  readonly env?: NodeJS.ProcessEnv
}

export interface Guildhall {
  readonly system: System
  readonly token: string
  readonly principal: AgentPrincipal
  readonly nc: NatsConnection
  readonly jsm: JetStreamManager
  readonly mcp_url: string
  /** As many as tools/list shows to the benchmarks' endpoint. */
  readonly tool_count: number
  createWebhook(source_type: string, queue: Queue): Promise<WebhookWithSecret>
  /** Until every consumer in the background has done what there was to do. */
  settle(): Promise<void>
  /** After its nats-server was replaced: until the services and we are connected again. */
  reconnected(): Promise<void>
  laneOf(queue: Queue): string
  stop(): Promise<void>
}

const RATES = { per_second: 10_000, burst: 100_000 }

const ingestLimits = {
  WEBHOOK_RATE_PER_SECOND: '100000',
  WEBHOOK_RATE_BURST: '1000000',
  CLIENT_RATE_PER_SECOND: '100000',
  CLIENT_RATE_BURST: '1000000',
}

const systemOptions = ({ nats = {}, env = {} }: GuildhallOptions): SystemOptions => ({
  // As shipped: what is acknowledged is on disk, in both stores.
  nats: { syncAlways: true, ...nats },
  fsync: true,
  env: { ingest: { ...ingestLimits, ...env }, tasks: env, 'mcp-gateway': env, approvals: env },
})

interface Vended {
  readonly endpoint: Endpoint
  readonly token: string
}

const vendEndpoint = async ({ api_urls, owner, agent }: System): Promise<Vended> => {
  const response = await fetch(`${api_urls[0]}/endpoints`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${owner.api_token}`,
    },
    body: JSON.stringify({
      agent: { agent_id: agent.agent_id },
      name: 'bench',
      queues: QUEUES,
      rate_limit: RATES,
      webhook_max: 10,
      webhook_source_types: ['github', 'generic'],
      webhook_queues: QUEUES,
    }),
  })
  if (!response.ok) throw new Error(`no endpoint: ${response.status} ${await response.text()}`)
  return (await response.json()) as Vended // its contract says so
}

const principalOf = (endpoint: Endpoint): AgentPrincipal => ({
  kind: 'agent',
  user_id: endpoint.user_id,
  agent_id: endpoint.agent_id,
  agent_name: endpoint.agent_name,
  endpoint_id: endpoint.endpoint_id,
  scope: {
    tools: endpoint.tools,
    queues: endpoint.queues,
    webhook_max: endpoint.webhook_max,
    webhook_source_types: endpoint.webhook_source_types,
    webhook_queues: endpoint.webhook_queues,
    default_lease_ttl_seconds: endpoint.default_lease_ttl_seconds,
    require_fence: endpoint.require_fence,
  },
})

/** A service may say that it is ready a moment before its port is open. */
const untilOpen = async ({ api_urls, ingest_urls }: System): Promise<void> => {
  for (const url of [...api_urls, ...ingest_urls]) {
    await waitFor(async () => (await fetch(url)).status > 0, { what: `${url} to be open` })
  }
}

const BACKGROUND = [`KV_${buckets.work}`, streams.deliveries]
const SETTLE_POLL_MS = 20
const SETTLE_MAX_MS = 240_000

const settleConsumers = async (jsm: JetStreamManager): Promise<void> => {
  const until = performance.now() + SETTLE_MAX_MS
  for (;;) {
    let left = 0
    for (const stream of BACKGROUND) {
      for (const info of await jsm.consumers.list(stream).next()) {
        left += info.num_pending + info.num_ack_pending
      }
    }
    if (left === 0) return
    if (performance.now() > until) throw new Error(`the background is ${left} messages behind`)
    await delay(SETTLE_POLL_MS)
  }
}

export const startGuildhall = async (options: GuildhallOptions = {}): Promise<Guildhall> => {
  const system = await startSystem(systemOptions(options))
  await untilOpen(system)
  const { endpoint, token } = await vendEndpoint(system)
  const nc = await connect({ servers: system.nats.url, maxReconnectAttempts: -1 })
  const jsm = await nc.jetstreamManager()
  const mcp_url = system.mcp_urls[0] ?? ''
  return {
    system,
    token,
    principal: principalOf(endpoint),
    nc,
    jsm,
    mcp_url,
    tool_count: await countTools(mcp_url, token),
    createWebhook: async (source_type, target_queue) => {
      const mcp = await openMcp(new URL(mcp_url), token)
      const args = { source_type, target_queue }
      const { structuredContent } = await mcp.callTool('create_webhook', args)
      mcp.close()
      return structuredContent as WebhookWithSecret // its contract says so
    },
    settle: () => settleConsumers(jsm),
    reconnected: async () => {
      await waitFor(
        async () => {
          await jsm.getAccountInfo()
          for (const url of Object.values(system.ops_urls).flat()) {
            if (!(await fetch(`${url}/ready`)).ok) return false
          }
          return true
        },
        { timeout_ms: 60_000, what: 'the services to be connected again' },
      )
    },
    laneOf: (queue) =>
      laneConsumer({ owner_id: endpoint.user_id, queue: queue as never, priority: 'normal' }), // QUEUES are names of queues
    stop: async () => {
      await nc.close()
      await system.stop()
    },
  }
}

const countTools = async (mcp_url: string, token: string): Promise<number> => {
  const response = await fetch(mcp_url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${token}`,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  })
  const { result } = (await response.json()) as { result: { tools: unknown[] } } // as MCP has it
  return result.tools.length
}
