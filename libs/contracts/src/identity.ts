import { z } from 'zod'
import { AgentId, ApiTokenId, EndpointId, QueueName, UserId } from './ids.ts'
import {
  LEASE_ENDPOINT_DEFAULT_MIN_SECONDS,
  LEASE_MAX_SECONDS,
  LIST_LIMIT_DEFAULT,
  LIST_LIMIT_MAX,
  QUEUES_PER_ENDPOINT_MAX,
} from './limits.ts'
import { operation } from './operation.ts'
import type { AgentPrincipal } from './principal.ts'
import { SourceType } from './source-types.ts'
import { Timestamp } from './todo.ts'

/** People, agents, endpoints and credentials. Owned by the approvals service; humans only. */

const Cidr = z.union([z.cidrv4(), z.cidrv6()])
const Name = z.string().min(1).max(100)

export const RateLimit = z.strictObject({
  per_second: z.number().positive().max(10_000),
  burst: z.int().min(1).max(100_000),
})
export type RateLimit = z.infer<typeof RateLimit>

/** Per endpoint, when its owner says nothing. */
export const RATE_LIMIT_DEFAULT: RateLimit = { per_second: 20, burst: 40 }

/** What an owner decides about an endpoint; everything an edit may change. */
const settingsShape = {
  name: Name,
  tools: z.array(z.string().max(64)).max(100),
  queues: z.array(QueueName).max(QUEUES_PER_ENDPOINT_MAX),
  webhook_max: z.int().min(0).max(1_000),
  webhook_source_types: z.array(SourceType).max(20),
  webhook_queues: z.array(QueueName).max(QUEUES_PER_ENDPOINT_MAX),
  default_lease_ttl_seconds: z
    .int()
    .min(LEASE_ENDPOINT_DEFAULT_MIN_SECONDS)
    .max(LEASE_MAX_SECONDS)
    .nullable(),
  require_fence: z.boolean(),
  rate_limit: RateLimit,
  allowed_cidrs: z.array(Cidr).max(50).describe('Empty: from anywhere'),
  expires_at: Timestamp.nullable(),
}

export const Endpoint = z.strictObject({
  endpoint_id: EndpointId,
  user_id: UserId,
  agent_id: AgentId,
  agent_name: Name,
  ...settingsShape,
  status: z.enum(['active', 'revoked']),
  credential_prefix: z.string(),
  created_at: Timestamp,
  revoked_at: Timestamp.nullable(),
  version: z.int().positive().describe('Grows with every change'),
})
export type Endpoint = z.infer<typeof Endpoint>

/** The caller that a credential of this endpoint makes. */
export const agentPrincipal = (endpoint: Endpoint): AgentPrincipal => ({
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

const optional = <S extends z.ZodRawShape>(shape: S) => z.strictObject(shape).partial().shape

export const vendEndpoint = operation({
  service: 'approvals',
  name: 'vend_endpoint',
  family: 'identity',
  access: 'write',
  tool: false,
  human_only: true,
  summary: 'Give an agent an endpoint: a credential with a scope. The credential is shown once.',
  input: z.strictObject({
    agent: z.union([z.strictObject({ agent_id: AgentId }), z.strictObject({ name: Name })]),
    ...optional(settingsShape),
    queues: z.array(QueueName).min(1).max(QUEUES_PER_ENDPOINT_MAX),
  }),
  output: z.strictObject({
    endpoint: Endpoint,
    token: z.string().describe('Shown this once'),
    mcp_url: z.string(),
    client_config: z.record(z.string(), z.record(z.string(), z.unknown())),
  }),
  errors: [
    'invalid_argument',
    'not_found',
    'ceiling_exceeded',
    'conflict',
    'idempotency_conflict',
    'unavailable',
  ],
  http: { method: 'POST', path: '/api/endpoints' },
})

export const listEndpoints = operation({
  service: 'approvals',
  name: 'list_endpoints',
  family: 'identity',
  access: 'read',
  tool: false,
  human_only: true,
  summary: 'List your endpoints, newest first.',
  input: z.strictObject({
    limit: z.int().min(1).max(LIST_LIMIT_MAX).default(LIST_LIMIT_DEFAULT),
    cursor: z.string().max(100).optional(),
  }),
  output: z.strictObject({ endpoints: z.array(Endpoint), next_cursor: z.string().optional() }),
  errors: ['invalid_argument', 'unavailable'],
  http: { method: 'GET', path: '/api/endpoints' },
})

export const editEndpoint = operation({
  service: 'approvals',
  name: 'edit_endpoint',
  family: 'identity',
  access: 'write',
  tool: false,
  human_only: true,
  summary: 'Change what an endpoint may do. What is omitted stays as it is.',
  input: z.strictObject({ endpoint_id: z.string().max(64), ...optional(settingsShape) }),
  output: Endpoint,
  errors: ['invalid_argument', 'not_found', 'conflict', 'idempotency_conflict', 'unavailable'],
  http: { method: 'PATCH', path: '/api/endpoints/{endpoint_id}' },
})

export const rotateEndpoint = operation({
  service: 'approvals',
  name: 'rotate_endpoint',
  family: 'identity',
  access: 'write',
  tool: false,
  human_only: true,
  summary: 'Replace the credential of an endpoint. The old one stops at once.',
  input: z.strictObject({ endpoint_id: z.string().max(64) }),
  output: z.strictObject({ endpoint: Endpoint, token: z.string(), mcp_url: z.string() }),
  errors: ['not_found', 'conflict', 'idempotency_conflict', 'unavailable'],
  http: { method: 'POST', path: '/api/endpoints/{endpoint_id}/rotate' },
})

export const revokeEndpoint = operation({
  service: 'approvals',
  name: 'revoke_endpoint',
  family: 'identity',
  access: 'write',
  tool: false,
  human_only: true,
  summary: 'Revoke an endpoint for good: its streams close, its claims end, its webhooks stop.',
  input: z.strictObject({ endpoint_id: z.string().max(64) }),
  output: Endpoint,
  errors: ['not_found', 'unavailable'],
  http: { method: 'POST', path: '/api/endpoints/{endpoint_id}/revoke' },
})

export const User = z.strictObject({ user_id: UserId, username: Name, created_at: Timestamp })
export type User = z.infer<typeof User>

export const getMe = operation({
  service: 'approvals',
  name: 'get_me',
  family: 'identity',
  access: 'read',
  tool: false,
  human_only: true,
  summary: 'Show who is logged in.',
  input: z.strictObject({}),
  output: User,
  errors: ['not_found', 'unavailable'],
  http: { method: 'GET', path: '/api/me' },
})

export const setPassword = operation({
  service: 'approvals',
  name: 'set_password',
  family: 'identity',
  access: 'write',
  tool: false,
  human_only: true,
  summary: 'Set the password for logging in.',
  input: z.strictObject({
    password: z.string().min(12).max(200),
    current_password: z.string().max(200).optional().describe('Needed once one is set'),
  }),
  output: z.strictObject({ changed: z.literal(true) }),
  errors: ['invalid_argument', 'forbidden', 'not_found', 'rate_limited', 'unavailable'],
  http: { method: 'PUT', path: '/api/me/password' },
})

export const ApiToken = z.strictObject({
  token_id: ApiTokenId,
  name: Name,
  prefix: z.string(),
  created_at: Timestamp,
  expires_at: Timestamp.nullable(),
})
export type ApiToken = z.infer<typeof ApiToken>

export const createApiToken = operation({
  service: 'approvals',
  name: 'create_api_token',
  family: 'identity',
  access: 'write',
  tool: false,
  human_only: true,
  summary: 'Mint a token for the REST API. It is shown once.',
  input: z.strictObject({ name: Name, expires_at: Timestamp.nullable().default(null) }),
  output: z.strictObject({ api_token: ApiToken, token: z.string() }),
  errors: [
    'invalid_argument',
    'not_found',
    'ceiling_exceeded',
    'conflict',
    'idempotency_conflict',
    'unavailable',
  ],
  http: { method: 'POST', path: '/api/tokens' },
})

export const listApiTokens = operation({
  service: 'approvals',
  name: 'list_api_tokens',
  family: 'identity',
  access: 'read',
  tool: false,
  human_only: true,
  summary: 'List your API tokens. Never a token itself.',
  input: z.strictObject({}),
  output: z.strictObject({ api_tokens: z.array(ApiToken) }),
  errors: ['unavailable'],
  http: { method: 'GET', path: '/api/tokens' },
})

export const revokeApiToken = operation({
  service: 'approvals',
  name: 'revoke_api_token',
  family: 'identity',
  access: 'write',
  tool: false,
  human_only: true,
  summary: 'Revoke an API token.',
  input: z.strictObject({ token_id: z.string().max(64) }),
  output: z.strictObject({ token_id: ApiTokenId, revoked: z.literal(true) }),
  errors: ['not_found', 'unavailable'],
  http: { method: 'DELETE', path: '/api/tokens/{token_id}' },
})

/**
 * The two ways to log in. Called by the gateway for a caller who is nobody yet; the answer is who
 * they are now. Failures look alike whatever was wrong, and are throttled per user and address.
 */
export const LoginInput = z.union([
  z.strictObject({ login_token: z.string().min(1).max(200) }),
  z.strictObject({ username: Name, password: z.string().min(1).max(200) }),
])

export const login = operation({
  service: 'approvals',
  name: 'login',
  family: 'identity',
  access: 'write',
  tool: false,
  human_only: true,
  summary: 'Exchange a one-time login link or a password for a session.',
  input: z.strictObject({ proof: LoginInput, client_address: z.string().max(64) }),
  output: User,
  errors: ['unauthenticated', 'rate_limited', 'unavailable'],
})
