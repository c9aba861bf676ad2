import { createHash, randomBytes } from 'node:crypto'
import { z } from 'zod'

/**
 * Kinds of id. People, agents and channels are integers on the wire; a todo is `td_` + UUID;
 * everything else is a prefixed ULID. All are valid subject tokens of the bus.
 */

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const ulidPattern = (prefix: string) => new RegExp(`^${prefix}_[0-9A-HJKMNP-TV-Z]{26}$`)

/** Whatever a lease can be held on: a todo, or a leaf task of a goal as `tk_<task_id>`. */
export const WorkItemId = z
  .string()
  .regex(/^(td_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|tk_[1-9][0-9]{0,15})$/)
  .brand<'WorkItemId'>()
export type WorkItemId = z.infer<typeof WorkItemId>

export const TodoId = z
  .string()
  .regex(/^td_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
  .brand<'WorkItemId'>()
  .brand<'TodoId'>()
export type TodoId = z.infer<typeof TodoId>

export const EndpointId = z.string().regex(ulidPattern('ep')).brand<'EndpointId'>()
export type EndpointId = z.infer<typeof EndpointId>

export const WebhookId = z.string().regex(ulidPattern('wh')).brand<'WebhookId'>()
export type WebhookId = z.infer<typeof WebhookId>

export const ApiTokenId = z.string().regex(ulidPattern('at')).brand<'ApiTokenId'>()
export type ApiTokenId = z.infer<typeof ApiTokenId>

export const UserId = z.int().positive()
export type UserId = z.infer<typeof UserId>

export const AgentId = z.int().positive()
export type AgentId = z.infer<typeof AgentId>

export const GoalId = z.int().positive()
export type GoalId = z.infer<typeof GoalId>

export const TaskId = z.int().positive()
export type TaskId = z.infer<typeof TaskId>

export const ChannelId = z.int().positive()
export type ChannelId = z.infer<typeof ChannelId>

export const MessageId = z.int().positive()
export type MessageId = z.infer<typeof MessageId>

/** Also the proposal_id of an agent proposal and the request_id of a resource request. */
export const ApprovalId = z.int().positive()
export type ApprovalId = z.infer<typeof ApprovalId>

/** The id under which a task is leased: key of its claim record, id of heartbeat and release. */
export const taskItemId = (task_id: TaskId): WorkItemId => `tk_${task_id}` as WorkItemId // the shape is right by construction

export const taskIdOf = (item_id: string): TaskId | undefined =>
  item_id.startsWith('tk_') ? Number(item_id.slice(3)) : undefined

/**
 * The channel of a goal. Goals are made by one service and channels by another; the channel's id
 * follows from the goal's, so that creating a goal can name its channel without asking anybody.
 * Channels that are not a goal's have odd ids.
 */
export const goalChannelId = (goal_id: GoalId): ChannelId => goal_id * 2

export const goalOfChannel = (channel_id: ChannelId): GoalId | undefined =>
  channel_id % 2 === 0 ? channel_id / 2 : undefined

/** A label inside one owner's space, never global. Restricted to what a subject token may hold. */
export const QueueName = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/)
  .describe('Queue name: 1 to 64 of A-Z a-z 0-9 _ -')
export type QueueName = z.infer<typeof QueueName>

const base32 = (bytes: Uint8Array, length: number): string => {
  let value = BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
  let text = ''
  for (let i = 0; i < length; i += 1) {
    text = CROCKFORD.charAt(Number(value & 31n)) + text
    value >>= 5n
  }
  return text
}

/** A ULID (https://github.com/ulid/spec): 48 bits of time in ms, 80 random bits. */
export const newUlid = (now_ms: number): string => {
  const bytes = Buffer.concat([Buffer.alloc(6), randomBytes(10)])
  bytes.writeUIntBE(now_ms, 0, 6)
  return base32(bytes, 26)
}

export const newEndpointId = (now_ms: number): EndpointId => `ep_${newUlid(now_ms)}` as EndpointId // the shape is right by construction
export const newWebhookId = (now_ms: number): WebhookId => `wh_${newUlid(now_ms)}` as WebhookId // as above
export const newApiTokenId = (now_ms: number): ApiTokenId => `at_${newUlid(now_ms)}` as ApiTokenId // as above

/**
 * The id of a todo is a function of what makes it one: the same parts give the same id, on every
 * replica and at every retry (UUID version 8 of RFC 9562 over SHA-256). Parts are length-prefixed,
 * so that ("ab","c") and ("a","bc") differ.
 */
export const deriveTodoId = (parts: readonly string[]): TodoId => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:${part}`)
  const bytes = hash.digest().subarray(0, 16)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex')
  return `td_${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}` as TodoId // the shape is right by construction
}

export const sha256Hex = (value: string | Uint8Array): string =>
  createHash('sha256').update(value).digest('hex')
