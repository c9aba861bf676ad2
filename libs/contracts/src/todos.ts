import { z } from 'zod'
import { QueueName, TodoId, WorkItemId } from './ids.ts'
import {
  ARTIFACT_MAX_BYTES,
  ATTEMPTS_DEFAULT_MAX,
  ATTEMPTS_MAX_MAX,
  ATTEMPTS_PAGE_DEFAULT,
  ATTEMPTS_PAGE_MAX,
  CLAIM_WAIT_MAX_SECONDS,
  CLAIMANT_MAX_BYTES,
  LEASE_DEFAULT_SECONDS,
  LEASE_MAX_SECONDS,
  LIST_LIMIT_DEFAULT,
  LIST_LIMIT_MAX,
  PAYLOAD_PAGE_BYTES,
  SUMMARY_MAX_BYTES,
  TITLE_MAX_CHARS,
} from './limits.ts'
import { operation } from './operation.ts'
import {
  Attempt,
  ClaimedTodo,
  claimShape,
  IdempotencyKey,
  JsonValue,
  Priority,
  payloadShape,
  rowShape,
  Timestamp,
  TodoRow,
} from './todo.ts'

/** Operations of the work queue. Owned by the tasks service. */

const leaseText = (sentence: string) =>
  `${sentence} Default ${LEASE_DEFAULT_SECONDS} or what this endpoint is set to; at most ${LEASE_MAX_SECONDS}.`

const LeaseTtl = z
  .int()
  .describe(leaseText('How long you may hold the todo without a heartbeat, in seconds.'))

const claimInput = {
  lease_ttl_seconds: LeaseTtl.optional(),
  require_fence: z
    .boolean()
    .optional()
    .describe('Every later call on this claim must then carry the lease_token.'),
  claimant: z
    .string()
    .optional()
    .describe(`A name for this worker, shown in the history; cut to ${CLAIMANT_MAX_BYTES} bytes.`),
  idempotency_key: IdempotencyKey.optional(),
}

const LeaseToken = z.string().max(200).describe('The lease_token that your claim returned.')

const endInput = {
  id: TodoId,
  summary: z
    .string()
    .optional()
    .describe(`What you did or why not, for the next reader; cut to ${SUMMARY_MAX_BYTES} bytes.`),
  artifact: z
    .string()
    .optional()
    .describe(
      `Where the work is: an https URL of at most ${ARTIFACT_MAX_BYTES} bytes, or mcp://cairn/<id>.`,
    ),
  lease_token: LeaseToken.optional(),
  idempotency_key: IdempotencyKey.optional(),
}

const byQueueErrors = ['invalid_argument', 'forbidden', 'unavailable'] as const
const holderErrors = ['invalid_argument', 'not_found', 'conflict', 'unavailable'] as const

export const listTodos = operation({
  service: 'tasks',
  name: 'list_todos',
  family: 'todos',
  access: 'read',
  tool: true,
  default_grant: true,
  summary: 'List todos, newest first, without payloads. Not needed to get work: use claim_next.',
  input: z.strictObject({
    queue: QueueName.optional(),
    state: z.enum(['pending', 'claimed', 'done', 'failed']).optional(),
    limit: z.int().min(1).max(LIST_LIMIT_MAX).default(LIST_LIMIT_DEFAULT),
    cursor: z.string().max(200).optional().describe('next_cursor of the page before.'),
  }),
  output: z.strictObject({ todos: z.array(TodoRow), next_cursor: z.string().optional() }),
  errors: byQueueErrors,
  http: { method: 'GET', path: '/api/todos' },
})

export const getTodo = operation({
  service: 'tasks',
  name: 'get_todo',
  family: 'todos',
  access: 'read',
  tool: true,
  grant: 'list_todos',
  summary: 'Show one todo with its result and the history of its attempts; never its payload.',
  input: z.strictObject({
    id: TodoId,
    attempts_limit: z.int().min(1).max(ATTEMPTS_PAGE_MAX).default(ATTEMPTS_PAGE_DEFAULT),
  }),
  output: z.strictObject({
    ...rowShape,
    result: JsonValue,
    attempts: z.array(Attempt).describe('Newest first, the open one included'),
    attempts_total: z.int().min(0),
    attempts_pruned: z.int().min(0),
    rings: z
      .array(
        z.strictObject({
          endpoint_id: z.string(),
          rung_at: Timestamp,
          heard: z.boolean().describe('A claim by that endpoint followed'),
        }),
      )
      .describe('Doorbell rings written to attached streams, newest first'),
  }),
  errors: ['invalid_argument', 'not_found', 'unavailable'],
  http: { method: 'GET', path: '/api/todos/{id}' },
})

export const getTodoPayload = operation({
  service: 'tasks',
  name: 'get_todo_payload',
  family: 'todos',
  access: 'read',
  tool: true,
  grant: 'claim',
  summary: `Read a large payload in pages of up to ${PAYLOAD_PAGE_BYTES} bytes while you hold its todo.`,
  input: z.strictObject({
    id: TodoId,
    lease_token: LeaseToken.optional(),
    offset: z.int().min(0).default(0).describe('Bytes from the start'),
  }),
  output: z.strictObject({
    id: WorkItemId,
    content_type: z.string(),
    total_bytes: z.int().min(0),
    offset: z.int().min(0),
    encoding: z.enum(['utf8', 'base64']),
    body: z.string(),
    next_offset: z.int().nullable(),
  }),
  errors: holderErrors,
})

/** For the doorbell's catch-up when a stream attaches; not a tool. */
export const oldestPending = operation({
  service: 'tasks',
  name: 'oldest_pending',
  family: 'todos',
  access: 'read',
  tool: false,
  grant: 'list_todos',
  summary: 'The todos that have waited longest, over the queues of the caller.',
  input: z.strictObject({ limit: z.int().min(1).max(20) }),
  output: z.strictObject({ todos: z.array(TodoRow) }),
  errors: ['unavailable'],
})

export const claim = operation({
  service: 'tasks',
  name: 'claim',
  family: 'todos',
  access: 'write',
  tool: true,
  default_grant: true,
  summary: 'Claim one todo by id and get its payload. Then heartbeat, and end it.',
  input: z.strictObject({ id: TodoId, ...claimInput }),
  output: ClaimedTodo,
  errors: ['invalid_argument', 'not_found', 'forbidden', 'conflict', 'internal', 'unavailable'],
  http: { method: 'POST', path: '/api/todos/{id}/claim' },
})

export const claimNext = operation({
  service: 'tasks',
  name: 'claim_next',
  family: 'todos',
  access: 'write',
  tool: true,
  default_grant: true,
  summary: 'Claim the next todo (high priority first, then the oldest) and get its payload.',
  input: z.strictObject({
    queue: QueueName.optional().describe('Without it: all queues granted to this endpoint.'),
    wait_seconds: z
      .int()
      .min(0)
      .max(CLAIM_WAIT_MAX_SECONDS)
      .optional()
      .describe('Wait this long for work to come when there is none.'),
    ...claimInput,
  }),
  output: z.strictObject({
    empty: z.boolean(),
    todo: z.strictObject({ ...rowShape, ...payloadShape }).optional(),
    lease_token: claimShape.lease_token.optional(),
    fence: claimShape.fence.optional(),
    attempt_seq: claimShape.attempt_seq.optional(),
    attempts_total: claimShape.attempts_total.optional(),
    prior_attempts: claimShape.prior_attempts.optional(),
  }),
  errors: [...byQueueErrors, 'internal'],
  http: { method: 'POST', path: '/api/claim_next' },
})

export const heartbeat = operation({
  service: 'tasks',
  name: 'heartbeat',
  family: 'todos',
  access: 'write',
  tool: true,
  default_grant: true,
  summary: 'Extend your lease on a todo or task. Without lease_ttl_seconds it never shortens it.',
  input: z.strictObject({
    id: WorkItemId.describe('A todo (td_...), or a task of a goal as tk_<task_id>'),
    lease_ttl_seconds: LeaseTtl.optional(),
    lease_token: LeaseToken.optional(),
  }),
  output: TodoRow,
  errors: [...holderErrors, 'internal'],
  http: { method: 'POST', path: '/api/todos/{id}/heartbeat' },
})

export const complete = operation({
  service: 'tasks',
  name: 'complete',
  family: 'todos',
  access: 'write',
  tool: true,
  default_grant: true,
  summary: 'End your claim: the work is done.',
  input: z.strictObject({ ...endInput, result: JsonValue.optional() }),
  output: TodoRow,
  errors: holderErrors,
  http: { method: 'POST', path: '/api/todos/{id}/complete' },
})

export const fail = operation({
  service: 'tasks',
  name: 'fail',
  family: 'todos',
  access: 'write',
  tool: true,
  default_grant: true,
  summary:
    'End your claim: it did not work. Retried later, or a dead letter after the last attempt.',
  input: z.strictObject({ ...endInput, result: JsonValue.optional() }),
  output: TodoRow,
  errors: holderErrors,
  http: { method: 'POST', path: '/api/todos/{id}/fail' },
})

export const release = operation({
  service: 'tasks',
  name: 'release',
  family: 'todos',
  access: 'write',
  tool: true,
  default_grant: true,
  summary: 'Give your claim back so that another can take it at once. The attempt stays counted.',
  input: z.strictObject({
    ...endInput,
    id: WorkItemId.describe('A todo (td_...), or a task of a goal as tk_<task_id>'),
  }),
  output: TodoRow,
  errors: holderErrors,
  http: { method: 'POST', path: '/api/todos/{id}/release' },
})

export const createTodo = operation({
  service: 'tasks',
  name: 'create_todo',
  family: 'todos',
  access: 'write',
  tool: true,
  default_grant: true,
  summary: 'Put a todo into a queue, to hand work to whoever drains it.',
  input: z.strictObject({
    queue: QueueName,
    title: z.string().min(1).max(TITLE_MAX_CHARS),
    payload: JsonValue.optional(),
    priority: Priority.default('normal'),
    not_before: Timestamp.optional().describe('Not claimable before this time (RFC 3339, UTC).'),
    max_attempts: z.int().min(1).max(ATTEMPTS_MAX_MAX).default(ATTEMPTS_DEFAULT_MAX),
    idempotency_key: IdempotencyKey.optional(),
  }),
  output: z.strictObject({ ...rowShape, created: z.boolean() }),
  errors: [...byQueueErrors, 'idempotency_conflict', 'payload_too_large'],
  http: { method: 'POST', path: '/api/todos' },
})

export const retryTodo = operation({
  service: 'tasks',
  name: 'retry_todo',
  family: 'todos',
  access: 'write',
  tool: true,
  summary: 'Put a failed todo back to pending with its attempts counted anew.',
  input: z.strictObject({ id: TodoId, idempotency_key: IdempotencyKey.optional() }),
  output: TodoRow,
  errors: ['invalid_argument', 'not_found', 'conflict', 'unavailable'],
  http: { method: 'POST', path: '/api/todos/{id}/retry' },
})
