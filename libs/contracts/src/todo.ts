import { z } from 'zod'
import { QueueName, WorkItemId } from './ids.ts'
import { CLAIM_PAYLOAD_INLINE_MAX_BYTES, IDEMPOTENCY_KEY_MAX_CHARS } from './limits.ts'

/** What a todo and its attempts look like, for callers and on the bus. */

/** awaiting_verification is reached only by tasks of goals; a todo never enters it. */
export const TodoState = z.enum(['pending', 'claimed', 'awaiting_verification', 'done', 'failed'])
export type TodoState = z.infer<typeof TodoState>

/** In the order in which claim_next looks at them. */
export const Priority = z.enum(['high', 'normal', 'low'])
export type Priority = z.infer<typeof Priority>

export const Timestamp = z.iso.datetime()

/** Any JSON value. The types are listed because clients refuse a parameter without a type. */
export const JsonValue = z
  .unknown()
  .meta({ type: ['object', 'array', 'string', 'number', 'boolean', 'null'] })

export const IdempotencyKey = z
  .string()
  .min(1)
  .max(IDEMPOTENCY_KEY_MAX_CHARS)
  .describe('Repeat a call whose answer was lost with the same key: it takes effect once.')

export const AttemptOutcome = z.enum([
  'completed',
  'failed',
  'released',
  'lease_expired',
  'reaped',
  'canceled',
  'revoked',
])
export type AttemptOutcome = z.infer<typeof AttemptOutcome>

export const AttemptDisposition = z.enum([
  'done',
  'retry_scheduled',
  'requeued',
  'dead_lettered',
  'canceled',
])
export type AttemptDisposition = z.infer<typeof AttemptDisposition>

/** One claim of a todo and how it ended. Absent values are null, never omitted. */
export const Attempt = z.strictObject({
  seq: z.int().positive().describe('Counts every claim ever made of this todo; never reused'),
  attempt: z.int().positive(),
  claimer_kind: z.enum(['endpoint', 'owner']),
  claimant: z.string().nullable(),
  claimed_at: Timestamp,
  last_heartbeat_at: Timestamp.nullable(),
  ended_at: Timestamp.nullable(),
  outcome: AttemptOutcome.nullable(),
  disposition: AttemptDisposition.nullable(),
  died: z.boolean(),
  summary: z.string().nullable(),
  summary_truncated: z.boolean(),
  artifact: z.string().nullable(),
})
export type Attempt = z.infer<typeof Attempt>

export const rowShape = {
  id: WorkItemId,
  queue: QueueName,
  source: z.string().optional(),
  kind: z.string().optional(),
  title: z.string(),
  state: TodoState,
  owner: z.string().optional().describe('Who holds it: agent:<id> or human:<id>'),
  assignee: z.string().optional(),
  attempt: z.int().min(0),
  max_attempts: z.int().positive(),
  lease_expires_at: Timestamp.optional(),
  next_retry_at: Timestamp.nullable(),
  dead_letter: z.boolean(),
  created_at: Timestamp,
  payload_size: z.int().min(0).describe('Bytes'),
  priority: Priority,
  not_before: Timestamp.optional(),
}

/** The compact form of every listing and every answer but a claim's: never the payload. */
export const TodoRow = z.strictObject(rowShape)
export type TodoRow = z.infer<typeof TodoRow>

export const payloadShape = {
  payload: JsonValue.describe('The body. JSON as JSON; else {content_type, encoding, body}'),
  payload_truncated: z
    .boolean()
    .optional()
    .describe(
      `True when over ${CLAIM_PAYLOAD_INLINE_MAX_BYTES} bytes: read it with get_todo_payload`,
    ),
}

export const claimShape = {
  lease_token: z.string().describe('Pass it to heartbeat, complete, fail and release'),
  fence: z.int().positive().describe('Grows with every claim of this todo'),
  attempt_seq: z.int().positive(),
  attempts_total: z.int().min(0),
  prior_attempts: z.array(Attempt),
}

export const ClaimedTodo = z.strictObject({ ...rowShape, ...payloadShape, ...claimShape })
export type ClaimedTodo = z.infer<typeof ClaimedTodo>
