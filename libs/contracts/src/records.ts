import { z } from 'zod'
import { Endpoint } from './identity.ts'
import {
  AgentId,
  EndpointId,
  GoalId,
  QueueName,
  TaskId,
  TodoId,
  UserId,
  WebhookId,
  WorkItemId,
} from './ids.ts'
import { SourceType, TrustMode } from './source-types.ts'
import { VerifierConfig } from './task-tree.ts'
import { Attempt, Priority, TodoState } from './todo.ts'

/** What lies in streams and buckets. Every record names its version; an unknown one is refused. */

/** Times on the bus are integer milliseconds since the epoch; on the wire they are RFC 3339. */
const Millis = z.int().min(0)

export const OpenAttempt = z.strictObject({
  seq: z.int().positive(),
  claimer_kind: z.enum(['endpoint', 'owner']),
  claimant: z.string().nullable(),
  claimed_at: Millis,
  last_heartbeat_at: Millis.nullable(),
  /** Revision of the claim itself, once a later write has replaced it. */
  fence: z.int().positive().optional(),
})

/** What the claim record of a task holds beside that of a todo. */
export const TaskPart = z.strictObject({
  task_id: TaskId,
  goal_id: GoalId,
  verifier: VerifierConfig,
  /** Configuration of the holder at its claim: what the evidence will be about. */
  config_hash: z.string().optional(),
  holder_agent_id: AgentId.optional(),
  /** What was handed in; kept while it is verified and after. */
  report: z
    .strictObject({
      summary: z.string().nullable(),
      artifact: z.string().nullable(),
      tokens: z.int().min(0),
      cost_minor: z.int().min(0),
      submitted_at: Millis,
    })
    .optional(),
  verdict: z
    .strictObject({
      by: z.string(),
      approved: z.boolean(),
      timed_out: z.boolean(),
      reason: z.string().nullable(),
      at: Millis,
    })
    .optional(),
  /** Ended by its owner; the state is then `failed`. */
  cancelled: z.boolean().optional(),
})
export type TaskPart = z.infer<typeof TaskPart>

/**
 * KV bucket `work`, key `<owner>.<item>`: the claim record, the only authority on an item's state.
 * Every transition is one compare-and-set on its revision.
 */
export const WorkRecord = z.strictObject({
  v: z.literal(1),
  id: WorkItemId,
  owner_id: UserId,
  queue: QueueName,
  priority: Priority,
  state: TodoState,
  title: z.string(),
  source: z.string().optional(),
  kind: z.string().optional(),
  created_at: Millis,
  updated_at: Millis,
  /** Claims and rings start here: creation, not_before, the due time of a retry, a requeue. */
  claimable_at: Millis,
  not_before: Millis.optional(),
  payload_size: z.int().min(0),
  content_type: z.string(),
  /** Hash of what create_todo was given, so that a reused key with other arguments is refused. */
  create_hash: z.string().optional(),
  /** Name in the object store, when the body is too large for a message. */
  body_ref: z.string().optional(),
  webhook_id: WebhookId.optional(),
  attempt: z.int().min(0),
  max_attempts: z.int().positive(),
  /** Counts every claim ever made; a manual retry resets `attempt`, never this. */
  attempts_total: z.int().min(0),
  holder: z.string().optional(),
  holder_endpoint_id: EndpointId.optional(),
  lease_until: Millis.optional(),
  lease_token_hash: z.string().optional(),
  require_fence: z.boolean().optional(),
  /** Hash of the key that made the open claim: its repeat gets the same lease back. */
  claim_key_hash: z.string().optional(),
  /** Hash of verb and key of the newest transition: its repeat gets the same answer. */
  last_key_hash: z.string().optional(),
  open_attempt: OpenAttempt.optional(),
  /** The latest closed attempts, newest first. */
  prior_attempts: z.array(Attempt),
  next_retry_at: Millis.optional(),
  dead_letter: z.boolean(),
  result: z.unknown().optional(),
  /** Of a task of a goal; absent on a todo. Its message is never in a queue: it is claimed by id. */
  task: TaskPart.optional(),
  /** Where the message's lease is moved and acknowledged. Unknown until it was first pulled. */
  ack_subject: z.string().optional(),
})
export type WorkRecord = z.infer<typeof WorkRecord>

/** Header of a message in WORK; its data is the payload, byte for byte. */
export const WorkMessageMeta = z.strictObject({
  v: z.literal(1),
  id: WorkItemId,
  content_type: z.string(),
  body_ref: z.string().optional(),
})
export type WorkMessageMeta = z.infer<typeof WorkMessageMeta>

/** Header of a message in DELIVERIES; its data is the raw body (empty with body_ref). */
export const DeliveryMeta = z.strictObject({
  v: z.literal(1),
  todo_id: TodoId,
  webhook_id: WebhookId,
  owner_id: UserId,
  /** Null for a webhook that a human made. */
  endpoint_id: EndpointId.nullable(),
  source_type: SourceType,
  queue: QueueName,
  trust_mode: TrustMode,
  verified: z.boolean(),
  verify_detail: z.string(),
  /** What makes the delivery this one, taken from what the provider signed. */
  external_id: z.string(),
  event_type: z.string().optional(),
  title: z.string(),
  content_type: z.string(),
  headers: z.record(z.string(), z.string()),
  source_ip: z.string(),
  payload_size: z.int().min(0),
  body_ref: z.string().optional(),
  received_at: Millis,
  /** Event that this one replays. */
  replay_of: z.int().positive().optional(),
})
export type DeliveryMeta = z.infer<typeof DeliveryMeta>

/** KV bucket `claim_keys`, key = hash of holder and idempotency key: what was last tried under it. */
export const ClaimKeyRecord = z.strictObject({ v: z.literal(1), todo_id: WorkItemId })
export type ClaimKeyRecord = z.infer<typeof ClaimKeyRecord>

/** KV bucket `lanes`, key `<owner>.<queue>.<priority>`: which lanes were ever used. */
export const LaneRecord = z.strictObject({ v: z.literal(1) })
export type LaneRecord = z.infer<typeof LaneRecord>

/** KV bucket `identity`, key `endpoint.<endpoint_id>`. */
export const IdentityEndpoint = z.strictObject({ v: z.literal(1), endpoint: Endpoint })
export type IdentityEndpoint = z.infer<typeof IdentityEndpoint>

/** KV bucket `identity`, key `cred.<sha256 hex of the token>`. */
export const IdentityCredential = z.discriminatedUnion('kind', [
  z.strictObject({
    v: z.literal(1),
    kind: z.literal('endpoint'),
    endpoint_id: EndpointId,
    revoked: z.boolean(),
  }),
  z.strictObject({
    v: z.literal(1),
    kind: z.literal('api_token'),
    user_id: UserId,
    token_id: z.string(),
    expires_at: Millis.nullable(),
    revoked: z.boolean(),
  }),
])
export type IdentityCredential = z.infer<typeof IdentityCredential>

/** KV bucket `sessions`, key = sha256 hex of the session cookie. */
export const HumanSession = z.strictObject({
  v: z.literal(1),
  user_id: UserId,
  csrf_token_hash: z.string(),
  created_at: Millis,
  expires_at: Millis,
})
export type HumanSession = z.infer<typeof HumanSession>

/** A sealed secret: AES-256-GCM under the named key of the key ring, base64 of nonce|ciphertext|tag. */
export const SealedValue = z.strictObject({ key_id: z.string(), data: z.string() })
export type SealedValue = z.infer<typeof SealedValue>

/** KV bucket `webhooks`, key = sha256 hex of the URL's token. */
export const WebhookConfig = z.strictObject({
  v: z.literal(1),
  version: z.int().positive(),
  webhook_id: WebhookId,
  owner_id: UserId,
  endpoint_id: EndpointId.nullable(),
  source_type: SourceType,
  target_queue: QueueName,
  /** Newest first. `until`: an older one still accepted during a rotation. */
  secrets: z.array(z.strictObject({ sealed: SealedValue, until: Millis.nullable() })),
  /** The URL itself, during a rotation. */
  until: Millis.nullable(),
  deleted: z.boolean(),
})
export type WebhookConfig = z.infer<typeof WebhookConfig>

/** Core subject `doorbell.<owner>.<queue>`: lossy by design. */
export const Ring = z.strictObject({
  v: z.literal(1),
  todo_id: WorkItemId,
  queue: QueueName,
  kind: z.string().optional(),
  source: z.string().optional(),
  title: z.string(),
})
export type Ring = z.infer<typeof Ring>

/** Core subject `rung.<owner>.<queue>`: a gateway wrote a ring to an attached stream. */
export const Rung = z.strictObject({
  v: z.literal(1),
  todo_id: WorkItemId,
  endpoint_id: EndpointId,
  rung_at: Millis,
})
export type Rung = z.infer<typeof Rung>

/** KV bucket `rates`, key `attach.<endpoint_id>`: what an attaching stream was rung for lately. */
export const AttachRings = z.strictObject({
  v: z.literal(1),
  rung: z.array(z.strictObject({ todo_id: z.string(), at_ms: Millis })),
})
export type AttachRings = z.infer<typeof AttachRings>

/** Event `evt.approvals.endpoint.revoked.v1`. */
export const EndpointRevoked = z.strictObject({
  v: z.literal(1),
  endpoint_id: EndpointId,
  agent_id: AgentId,
  user_id: UserId,
  revoked_at: Millis,
})
export type EndpointRevoked = z.infer<typeof EndpointRevoked>

/** Whether this agent holds the lease of the item now: what secrets and requests are bound to. */
export const holdsItem = (record: WorkRecord, agent_id: AgentId, now_ms: number): boolean =>
  record.state === 'claimed' &&
  record.holder === `agent:${agent_id}` &&
  (record.lease_until ?? 0) > now_ms
