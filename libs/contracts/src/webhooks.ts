import { z } from 'zod'
import { QueueName, WebhookId } from './ids.ts'
import { LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX, WEBHOOK_ROTATION_OVERLAP_SECONDS } from './limits.ts'
import { operation } from './operation.ts'
import { SourceType, TrustMode } from './source-types.ts'
import { IdempotencyKey, Timestamp } from './todo.ts'

/** Operations of webhooks and their event history. Owned by the ingest service. */

const SigningSecret = z
  .string()
  .max(512)
  .describe('The secret that the provider issued. Without it one is minted, where that can work.')

const overlapHours = WEBHOOK_ROTATION_OVERLAP_SECONDS / 3_600

export const WebhookWithSecret = z.strictObject({
  webhook_id: WebhookId,
  ingest_url: z.string(),
  source_type: SourceType,
  target_queue: QueueName,
  trust_mode: TrustMode,
  signing_secret: z.string().optional().describe('Shown this once; never readable again'),
  warning: z.string().optional(),
})
export type WebhookWithSecret = z.infer<typeof WebhookWithSecret>

export const WebhookRow = z.strictObject({
  webhook_id: WebhookId,
  ingest_url: z.string(),
  source_type: SourceType,
  target_queue: QueueName,
  trust_mode: TrustMode,
  secret_set: z.boolean(),
  created_at: Timestamp,
  rotated_at: Timestamp.optional(),
  allow_all: z.boolean(),
  quarantined: z.int().min(0),
})
export type WebhookRow = z.infer<typeof WebhookRow>

export const createWebhook = operation({
  service: 'ingest',
  name: 'create_webhook',
  family: 'webhooks',
  access: 'write',
  tool: true,
  default_grant: true,
  summary: 'Create a URL at which a provider posts events that become todos in a queue.',
  input: z.strictObject({
    source_type: z
      .string()
      .max(64)
      .describe(`One of: ${SourceType.options.join(', ')}`),
    target_queue: z.string().max(64),
    signing_secret: SigningSecret.optional(),
    idempotency_key: IdempotencyKey.optional(),
  }),
  output: WebhookWithSecret,
  errors: [
    'invalid_argument',
    'forbidden_source_type',
    'forbidden',
    'ceiling_exceeded',
    'idempotency_conflict',
    'unavailable',
  ],
  http: { method: 'POST', path: '/api/webhooks' },
})

export const listWebhooks = operation({
  service: 'ingest',
  name: 'list_webhooks',
  family: 'webhooks',
  access: 'read',
  tool: true,
  default_grant: true,
  summary: 'List your webhooks, newest first, and the ceiling that your owner set. Never a secret.',
  input: z.strictObject({
    limit: z.int().min(1).max(LIST_LIMIT_MAX).default(LIST_LIMIT_DEFAULT),
    cursor: z.string().max(100).optional(),
  }),
  output: z.strictObject({
    webhooks: z.array(WebhookRow),
    next_cursor: z.string().optional(),
    ceiling: z.strictObject({
      max: z.int().min(0),
      allowed_source_types: z.array(SourceType),
      allowed_queues: z.array(QueueName),
      used: z.int().min(0),
    }),
  }),
  errors: ['invalid_argument', 'unavailable'],
  http: { method: 'GET', path: '/api/webhooks' },
})

export const rotateWebhook = operation({
  service: 'ingest',
  name: 'rotate_webhook',
  family: 'webhooks',
  access: 'write',
  tool: true,
  default_grant: true,
  summary: `Get a new URL and a new secret. The old pair works for ${overlapHours} h more, unless immediate.`,
  input: z.strictObject({
    webhook_id: z.string().max(64),
    immediate: z.boolean().default(false),
    signing_secret: SigningSecret.optional(),
    idempotency_key: IdempotencyKey.optional(),
  }),
  output: WebhookWithSecret,
  errors: ['invalid_argument', 'not_found', 'idempotency_conflict', 'unavailable'],
  http: { method: 'POST', path: '/api/webhooks/{webhook_id}/rotate' },
})

export const setWebhookSecret = operation({
  service: 'ingest',
  name: 'set_webhook_secret',
  family: 'webhooks',
  access: 'write',
  tool: true,
  default_grant: true,
  summary: `Set the secret that the provider issued (Stripe, Slack, Linear ...). The old one works for ${overlapHours} h more, unless immediate.`,
  input: z.strictObject({
    webhook_id: z.string().max(64),
    signing_secret: SigningSecret,
    immediate: z.boolean().default(false),
  }),
  output: z.strictObject({ webhook_id: WebhookId, secret_set: z.literal(true) }),
  errors: ['invalid_argument', 'not_found', 'unavailable'],
  http: { method: 'PUT', path: '/api/webhooks/{webhook_id}/secret' },
})

export const deleteWebhook = operation({
  service: 'ingest',
  name: 'delete_webhook',
  family: 'webhooks',
  access: 'write',
  tool: true,
  default_grant: true,
  summary: 'Delete a webhook: its URL stops at once. Its events stay in the history.',
  input: z.strictObject({ webhook_id: z.string().max(64) }),
  output: z.strictObject({ webhook_id: WebhookId, deleted: z.literal(true) }),
  errors: ['not_found', 'unavailable'],
  http: { method: 'DELETE', path: '/api/webhooks/{webhook_id}' },
})

export const WebhookEventRow = z.strictObject({
  id: z.int().positive(),
  provider: z.string(),
  event_type: z.string().optional(),
  trust_mode: TrustMode,
  verified: z.boolean(),
  payload_size: z.int().min(0),
  received_at: Timestamp,
})
export type WebhookEventRow = z.infer<typeof WebhookEventRow>

export const listWebhookEvents = operation({
  service: 'ingest',
  name: 'list_webhook_events',
  family: 'events',
  access: 'read',
  tool: true,
  default_grant: true,
  summary: 'List the deliveries that your webhooks accepted, newest first, without bodies.',
  input: z.strictObject({
    provider: z.string().max(64).optional(),
    event_type: z.string().max(200).optional(),
    since: z.string().max(64).optional().describe('RFC 3339 time or event id, inclusive.'),
    limit: z.int().min(1).max(LIST_LIMIT_MAX).default(LIST_LIMIT_DEFAULT),
    cursor: z.string().max(400).optional(),
  }),
  output: z.strictObject({
    events: z.array(WebhookEventRow),
    next_cursor: z.string().optional(),
  }),
  errors: ['invalid_argument', 'unavailable'],
  http: { method: 'GET', path: '/api/webhook-events' },
})

export const getWebhookEvent = operation({
  service: 'ingest',
  name: 'get_webhook_event',
  family: 'events',
  access: 'read',
  tool: true,
  default_grant: true,
  summary: 'Show one delivery with its headers (credentials redacted) and its raw body.',
  input: z.strictObject({
    id: z.int().positive(),
    payload_offset: z.int().min(0).default(0).describe('Bytes from the start of the body.'),
  }),
  output: z.strictObject({
    ...WebhookEventRow.shape,
    webhook_id: WebhookId,
    todo_id: z.string(),
    verify_detail: z.string(),
    external_id: z.string(),
    content_type: z.string(),
    source_ip: z.string(),
    headers: z.record(z.string(), z.string()),
    payload: z.string().describe('Raw body, one page'),
    payload_encoding: z.enum(['utf8', 'base64']),
    next_payload_offset: z.int().nullable(),
  }),
  errors: ['invalid_argument', 'not_found', 'unavailable'],
  http: { method: 'GET', path: '/api/webhook-events/{id}' },
})

export const replayWebhookEvent = operation({
  service: 'ingest',
  name: 'replay_webhook_event',
  family: 'events',
  access: 'write',
  tool: true,
  default_grant: true,
  summary: 'Put a past delivery into its queue again, as a new todo.',
  input: z.strictObject({
    id: z.int().positive(),
    idempotency_key: IdempotencyKey.optional(),
  }),
  output: z.strictObject({
    id: z.int().positive(),
    todo_id: z.string(),
    queue: QueueName,
    created: z.boolean(),
  }),
  errors: ['invalid_argument', 'not_found', 'unavailable'],
  http: { method: 'POST', path: '/api/webhook-events/{id}/replay' },
})

/** What a provider gets for an accepted delivery (HTTP 202). */
export const DeliveryAccepted = z.strictObject({
  todos: z.array(
    z.strictObject({
      id: z.string(),
      endpoint_id: z.string().nullable(),
      queue: QueueName,
      created: z.boolean(),
    }),
  ),
  created: z.int().min(0),
  id: z.string(),
  queue: QueueName,
  verified: z.boolean(),
  trust_mode: TrustMode,
  repeat: z.literal(true).optional(),
})
export type DeliveryAccepted = z.infer<typeof DeliveryAccepted>
