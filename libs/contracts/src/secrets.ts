import { z } from 'zod'
import { TaskId } from './ids.ts'
import {
  RPC_TIMEOUT_MS,
  SECRET_CALL_BODY_MAX_BYTES,
  SECRET_CALL_TIMEOUT_MS,
  SECRET_HOSTS_MAX,
  SECRET_VALUE_MAX_BYTES,
  SECRET_VALUE_MIN_CHARS,
} from './limits.ts'
import { operation } from './operation.ts'
import { IdempotencyKey, Timestamp } from './todo.ts'

/** Sealed values that agents use and never see. Owned by the secrets service. */

export const SecretScope = z.enum(['user', 'agent', 'task'])
export type SecretScope = z.infer<typeof SecretScope>

/** Upper case on the way in, so that api_key and API_KEY are one name. */
export const SecretName = z
  .string()
  .min(1)
  .max(100)
  .regex(/^[A-Za-z0-9_]+$/)

const HostName = z
  .string()
  .max(253)
  // The last label is never a number, so that no IP address is a host name.
  .regex(/^(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+([a-z]{2,63}|xn--[a-z0-9-]{1,59})$/)

const place = {
  scope_type: SecretScope,
  scope_id: z.int().positive().describe('The user, agent or task that the scope names'),
  name: SecretName,
}

const Hosts = z
  .array(HostName)
  .max(SECRET_HOSTS_MAX)
  .describe('Hosts that call_with_secret may send it to; "*.example.com" for subdomains')

export const SecretRow = z.strictObject({
  name: z.string(),
  available: z.boolean(),
  last_used_at: Timestamp.nullable(),
})

const Stored = z.strictObject({
  ...place,
  version: z.int().positive(),
  hosts: z.array(z.string()),
  created_at: Timestamp,
})

const Value = z.string().min(SECRET_VALUE_MIN_CHARS).max(SECRET_VALUE_MAX_BYTES)

export const setSecret = operation({
  service: 'secrets',
  name: 'set_secret',
  family: 'secrets',
  access: 'write',
  tool: false,
  human_only: true,
  summary: 'Store a secret, in place of the one of that name and scope. It is never shown again.',
  input: z.strictObject({ ...place, value: Value, hosts: Hosts.default([]) }),
  output: Stored,
  errors: [
    'invalid_argument',
    'not_found',
    'ceiling_exceeded',
    'idempotency_conflict',
    'unavailable',
  ],
  http: { method: 'PUT', path: '/api/secrets/{scope_type}/{scope_id}/{name}' },
})

export const rotateSecret = operation({
  service: 'secrets',
  name: 'rotate_secret',
  family: 'secrets',
  access: 'write',
  tool: false,
  human_only: true,
  summary: 'Give a secret a new value; its hosts stay unless you name others.',
  input: z.strictObject({ ...place, value: Value, hosts: Hosts.optional() }),
  output: Stored,
  errors: ['invalid_argument', 'not_found', 'idempotency_conflict', 'unavailable'],
  http: { method: 'POST', path: '/api/secrets/{scope_type}/{scope_id}/{name}/rotate' },
})

export const revokeSecret = operation({
  service: 'secrets',
  name: 'revoke_secret',
  family: 'secrets',
  access: 'write',
  tool: false,
  human_only: true,
  summary: 'Revoke a secret: nothing can use it from now on.',
  input: z.strictObject(place),
  output: z.strictObject({ ...place, revoked: z.literal(true) }),
  errors: ['invalid_argument', 'not_found', 'conflict', 'unavailable'],
  http: { method: 'DELETE', path: '/api/secrets/{scope_type}/{scope_id}/{name}' },
})

export const listSecrets = operation({
  service: 'secrets',
  name: 'list_secrets',
  family: 'secrets',
  access: 'read',
  tool: false,
  human_only: true,
  summary: 'List the names of the secrets of a scope. Never a value.',
  input: z.strictObject({ scope_type: SecretScope, scope_id: z.int().positive() }),
  output: z.strictObject({ secrets: z.array(SecretRow) }),
  errors: ['invalid_argument', 'not_found', 'unavailable'],
  http: { method: 'GET', path: '/api/secrets/{scope_type}/{scope_id}', list: 'secrets' },
})

export const listResources = operation({
  service: 'secrets',
  name: 'list_resources',
  family: 'secrets',
  access: 'read',
  tool: true,
  summary: "List names of secrets available to the caller's scope. Values are never returned.",
  input: z.strictObject({
    task_id: TaskId.optional().describe('Optional: if provided, task-scoped secrets are included'),
  }),
  output: z.strictObject({
    resources: z.array(
      z.strictObject({
        name: z.string(),
        scope: SecretScope,
        available: z.boolean().describe('False: asked for and not given yet'),
      }),
    ),
  }),
  errors: ['invalid_argument', 'not_found', 'forbidden', 'unavailable'],
})

export const callWithSecret = operation({
  service: 'secrets',
  name: 'call_with_secret',
  family: 'secrets',
  access: 'write',
  tool: true,
  answer_ms: SECRET_CALL_TIMEOUT_MS + RPC_TIMEOUT_MS,
  summary:
    'Make an HTTPS call in which {{NAME}}, in a header, the query or the body, is replaced by the secret of that name. You get the answer, never the secret.',
  input: z.strictObject({
    secret: SecretName,
    method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
    url: z.string().max(4_000).describe('https only, to a host that the owner listed'),
    headers: z.record(z.string().max(100), z.string().max(4_000)).optional(),
    body: z.string().max(SECRET_CALL_BODY_MAX_BYTES).optional(),
    task_id: TaskId.optional().describe('A task that you hold: its own secrets come first'),
    idempotency_key: IdempotencyKey.optional(),
  }),
  output: z.strictObject({
    status: z.int(),
    headers: z.record(z.string(), z.string()),
    body: z.string().describe('With every trace of the secret taken out'),
    body_encoding: z.enum(['utf8', 'base64']),
    truncated: z.boolean(),
  }),
  errors: [
    'invalid_argument',
    'not_found',
    'forbidden',
    'approval_required',
    'idempotency_conflict',
    'payload_too_large',
    'rate_limited',
    'unavailable',
    'deadline_exceeded',
  ],
})
