import { randomBytes } from 'node:crypto'
import { applyTopology, type Bus, connectBus, createKv, type Kv } from '@guildhall/bus'
import {
  buckets,
  credentialKey,
  defaultGrants,
  type Endpoint,
  endpointKey,
  IdentityCredential,
  IdentityEndpoint,
  newApiTokenId,
  newEndpointId,
  type OutputOf,
  oldestPending,
} from '@guildhall/contracts'
import { createLogger, type Logger } from '@guildhall/runtime'
import { ManualClock, type NatsServer, startNats, waitFor } from '@guildhall/testing'
import type { Test } from 'tap'
import { z } from 'zod'
import { GatewayConfig } from '../../src/config.ts'
import { createGateway, type Gateway } from '../../src/gateway.ts'
import { Peer } from './peers.ts'

/** A gateway on a real bus, with peers that answer what a test says, and credentials at will. */

const log: Logger = createLogger({
  service: 'test',
  level: process.env.TEST_LOG_LEVEL ?? 'silent',
})

const Identity = z.union([IdentityEndpoint, IdentityCredential])

export interface Vended {
  readonly token: string
  readonly endpoint: Endpoint
}

export interface Fixture {
  readonly nats: NatsServer
  readonly bus: Bus
  readonly clock: ManualClock
  readonly gateway: Gateway
  readonly tasks: Peer
  readonly approvals: Peer
  readonly ingest: Peer
  readonly mcp_url: string
  readonly identity: Kv<z.infer<typeof Identity>>
  /** Writes an endpoint with a fresh credential, as approvals does, and waits until it is known. */
  vend(settings?: Partial<Endpoint>): Promise<Vended>
  edit(endpoint: Endpoint, changes: Partial<Endpoint>): Promise<Endpoint>
  revoke(vended: Vended): Promise<void>
  apiToken(user_id: number): Promise<string>
  /** Waits until this many streams are attached and the bus knows of their subscriptions. */
  attached(count: number, gateway?: Gateway): Promise<void>
  /** Another replica of the same gateway. */
  replica(env?: Record<string, string>): Promise<Gateway>
}

let last_user_id = 0
/** Each test is its own owner, so that tests of one file do not see each other's rings. */
export const newUserId = (): number => {
  last_user_id += 1
  return last_user_id
}

const newToken = (prefix: string): string => `${prefix}_${randomBytes(32).toString('base64url')}`

const newEndpoint = (clock: ManualClock, settings: Partial<Endpoint>): Endpoint => ({
  endpoint_id: newEndpointId(clock.now()),
  user_id: newUserId(),
  agent_id: 7,
  agent_name: 'worker',
  name: 'main',
  tools: [...defaultGrants],
  queues: ['inbox'],
  webhook_max: 1,
  webhook_source_types: ['generic'],
  webhook_queues: ['inbox'],
  default_lease_ttl_seconds: null,
  require_fence: false,
  rate_limit: { per_second: 10_000, burst: 100_000 },
  allowed_cidrs: [],
  expires_at: null,
  status: 'active',
  credential_prefix: 'agt_',
  created_at: '2030-01-01T00:00:00.000Z',
  revoked_at: null,
  version: 1,
  ...settings,
})

export const testConfig = (nats_url: string, env: Record<string, string> = {}): GatewayConfig =>
  GatewayConfig.parse({ NODE_ENV: 'test', NATS_URL: nats_url, HTTP_PORT: '0', ...env })

const startGateway = async (
  url: string,
  clock: ManualClock,
  env: Record<string, string>,
): Promise<{ gateway: Gateway; bus: Bus }> => {
  const bus = await connectBus({ url, service: 'mcp-gateway', log })
  const gateway = createGateway({ config: testConfig(url, env), bus, clock, log })
  await gateway.start()
  await waitFor(() => gateway.ready().identity, { what: 'the identities to be loaded' })
  return { gateway, bus }
}

export const setup = async (t: Test, env: Record<string, string> = {}): Promise<Fixture> => {
  const nats = await startNats()
  const clock = new ManualClock()
  const bus = await connectBus({ url: nats.url, service: 'test', log })
  await applyTopology(bus)
  const peer = (service: 'tasks' | 'approvals' | 'ingest') =>
    new Peer({ url: nats.url, service, log })
  const [tasks, approvals, ingest] = [peer('tasks'), peer('approvals'), peer('ingest')]
  tasks.on(oldestPending, (): OutputOf<typeof oldestPending> => ({ todos: [] }))
  await Promise.all([tasks.start(), approvals.start(), ingest.start()])
  const first = await startGateway(nats.url, clock, env)
  const gateways = [first]
  t.teardown(async () => {
    for (const { gateway, bus: own } of gateways) {
      await gateway.stop()
      await own.close()
    }
    await Promise.all([tasks.stop(), approvals.stop(), ingest.stop()])
    await bus.close()
    await nats.stop()
  })
  const identity = createKv(bus, buckets.identity, Identity)

  /** A call with the token shows that the mirror has it: what a client would see, no hook needed. */
  const known = async (token: string, status: number): Promise<void> => {
    await waitFor(
      async () => {
        const headers = { authorization: `Bearer ${token}`, accept: 'text/plain' }
        const answers = await Promise.all(
          gateways.map(({ gateway }) => fetch(`${gateway.url}/mcp`, { headers })),
        )
        return answers.every((answer) => answer.status === status)
      },
      { what: `the credential to be answered with ${status}` },
    )
  }

  return {
    nats,
    bus,
    clock,
    gateway: first.gateway,
    tasks,
    approvals,
    ingest,
    identity,
    get mcp_url() {
      return `${first.gateway.url}/mcp`
    },
    vend: async (settings = {}) => {
      const endpoint = newEndpoint(clock, settings)
      const token = newToken('agt')
      await identity.put(endpointKey(endpoint.endpoint_id), { v: 1, endpoint })
      await identity.put(credentialKey(token), {
        v: 1,
        kind: 'endpoint',
        endpoint_id: endpoint.endpoint_id,
        revoked: false,
      })
      if (endpoint.status === 'active' && endpoint.allowed_cidrs.length === 0) {
        await known(token, 406)
      }
      return { token, endpoint }
    },
    edit: async (endpoint, changes) => {
      const next = { ...endpoint, ...changes, version: endpoint.version + 1 }
      await identity.put(endpointKey(endpoint.endpoint_id), { v: 1, endpoint: next })
      return next
    },
    revoke: async ({ token, endpoint }) => {
      const revoked = { ...endpoint, status: 'revoked' as const, version: endpoint.version + 1 }
      await identity.put(endpointKey(endpoint.endpoint_id), { v: 1, endpoint: revoked })
      await identity.put(credentialKey(token), {
        v: 1,
        kind: 'endpoint',
        endpoint_id: endpoint.endpoint_id,
        revoked: true,
      })
    },
    apiToken: async (user_id) => {
      const token = newToken('api')
      await identity.put(credentialKey(token), {
        v: 1,
        kind: 'api_token',
        user_id,
        token_id: newApiTokenId(clock.now()),
        expires_at: null,
        revoked: false,
      })
      await waitFor(
        async () => {
          const headers = { authorization: `Bearer ${token}` }
          const answer = await fetch(`${first.gateway.url}/api/session`, { headers })
          return answer.status === 404
        },
        { what: 'the API token to be known' },
      )
      return token
    },
    attached: async (count, gateway = first.gateway) => {
      await waitFor(() => gateway.doorbell.attached === count, {
        what: `${count} attached streams`,
      })
      // A round trip on the same connection: the subscriptions went before it.
      await gateways.find((started) => started.gateway === gateway)?.bus.nc.flush()
    },
    replica: async (more = {}) => {
      const started = await startGateway(nats.url, clock, { ...env, ...more })
      gateways.push(started)
      return started.gateway
    },
  }
}
