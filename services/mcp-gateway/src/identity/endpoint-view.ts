import {
  type AgentPrincipal,
  agentPrincipal,
  type Endpoint,
  getDefaultLease,
  grantOf,
  LEASE_DEFAULT_SECONDS,
  type Operation,
  setDefaultLease,
  tools,
} from '@guildhall/contracts'
import { type Network, parseNetworks } from '@guildhall/runtime'

/** What a caller of /mcp may use, be it an endpoint or a person. */
export interface CallerView {
  readonly human: boolean
  readonly grants: ReadonlySet<string>
  readonly queues: ReadonlySet<string>
  /** What a claim gets that names no lease. */
  readonly lease_seconds: number
  readonly lease_is_own: boolean
}

/**
 * One version of an endpoint, prepared for the calls that follow. It is replaced as a whole when
 * the endpoint changes, so whatever is derived from it can be kept in a WeakMap and never goes
 * stale.
 */
export interface EndpointView extends CallerView {
  readonly human: false
  readonly endpoint: Endpoint
  readonly principal: AgentPrincipal
  readonly networks: readonly Network[]
  readonly expires_ms: number
}

export const viewOf = (endpoint: Endpoint): EndpointView => ({
  human: false,
  endpoint,
  principal: agentPrincipal(endpoint),
  grants: new Set(endpoint.tools),
  queues: new Set(endpoint.queues),
  lease_seconds: endpoint.default_lease_ttl_seconds ?? LEASE_DEFAULT_SECONDS,
  lease_is_own: endpoint.default_lease_ttl_seconds !== null,
  networks: parseNetworks(endpoint.allowed_cidrs),
  expires_ms:
    endpoint.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(endpoint.expires_at),
})

/** A default lease belongs to an endpoint, and a person is none. */
const OF_ENDPOINTS: ReadonlySet<string> = new Set([getDefaultLease.name, setDefaultLease.name])

/** A person who calls with an API token: every tool, those for humans alone included. */
export const humanView: CallerView = {
  human: true,
  grants: new Set(tools.map(grantOf).filter((grant) => !OF_ENDPOINTS.has(grant))),
  queues: new Set(),
  lease_seconds: LEASE_DEFAULT_SECONDS,
  lease_is_own: false,
}

export const mayUse = (view: CallerView, op: Operation): boolean =>
  view.grants.has(grantOf(op)) && (view.human || op.human_only !== true)

export const isLive = (view: EndpointView, now_ms: number): boolean =>
  view.endpoint.status === 'active' && now_ms < view.expires_ms

/**
 * For what the gateway does on an agent's behalf without the agent asking: give back a claim whose
 * answer was lost, look up what to ring for. The endpoint need not be granted these tools.
 */
export const withGrant = (principal: AgentPrincipal, grant: string): AgentPrincipal =>
  principal.scope.tools.includes(grant)
    ? principal
    : { ...principal, scope: { ...principal.scope, tools: [...principal.scope.tools, grant] } }
