import { createHash } from 'node:crypto'
import type { Operation } from './operation.ts'
import type { Priority } from './todo.ts'

/** Names on the bus. Nothing else in the system builds a subject, stream or bucket name. */

export const streams = {
  deliveries: 'DELIVERIES',
  work: 'WORK',
  events: 'EVENTS',
  dead: 'DEAD',
} as const

export const buckets = {
  work: 'work',
  identity: 'identity',
  webhooks: 'webhooks',
  lanes: 'lanes',
  claimKeys: 'claim_keys',
  sessions: 'sessions',
  rates: 'rates',
  agents: 'agents',
  goals: 'goals',
  standing: 'standing',
} as const

/** Object store for bodies that exceed a message. */
export const bodyStore = 'bodies'

/** Each queue has a lane per priority: JetStream orders within a consumer, not by urgency. */
export interface Lane {
  readonly owner_id: number
  readonly queue: string
  readonly priority: Priority
}

export const subjects = {
  rpc: (op: Pick<Operation, 'service' | 'name'>) => `rpc.${op.service}.${op.name}`,
  /** The last token makes a delivery unique: a second publish to it is refused by the stream. */
  delivery: (owner_id: number, source_type: string, todo_id: string) =>
    `deliveries.${owner_id}.${source_type}.${todo_id}`,
  work: (lane: Lane, todo_id: string) =>
    `work.${lane.owner_id}.${lane.queue}.${lane.priority}.${todo_id}`,
  lane: (lane: Lane) => `work.${lane.owner_id}.${lane.queue}.${lane.priority}.*`,
  dead: (owner_id: number, queue: string, todo_id: string) =>
    `dead.${owner_id}.${queue}.${todo_id}`,
  doorbell: (owner_id: number, queue: string) => `doorbell.${owner_id}.${queue}`,
  rung: (owner_id: number, queue: string) => `rung.${owner_id}.${queue}`,
  event: (service: string, entity: string, past: string, version = 1) =>
    `evt.${service}.${entity}.${past}.v${version}`,
} as const

/**
 * The subject of a message that no lane takes and that therefore stays at the front of WORK for
 * ever: no owner has the id 0.
 */
export const workGuard = 'work.0.guard.normal.guard'

export const laneConsumer = (lane: Lane): string =>
  `lane-${lane.owner_id}-${lane.queue}-${lane.priority}`

export const workKey = (owner_id: number, todo_id: string): string => `${owner_id}.${todo_id}`
export const laneKey = (lane: Lane): string => `${lane.owner_id}.${lane.queue}.${lane.priority}`
export const agentKey = (user_id: number, agent_id: number): string => `${user_id}.${agent_id}`
export const goalKey = (user_id: number, goal_id: number): string => `${user_id}.goal.${goal_id}`
export const taskKey = (user_id: number, task_id: number): string => `${user_id}.task.${task_id}`
export const endpointKey = (endpoint_id: string): string => `endpoint.${endpoint_id}`
/** Secrets are looked up by hash, so that a bucket's reader learns none. */
export const credentialKeyOfHash = (token_sha256_hex: string): string => `cred.${token_sha256_hex}`
export const credentialKey = (token: string): string =>
  credentialKeyOfHash(createHash('sha256').update(token).digest('hex'))

/** Headers of a call or a message. */
export const headers = {
  principal: 'Gh-Principal',
  request_id: 'Gh-Request-Id',
  idempotency_key: 'Gh-Idempotency-Key',
  deadline: 'Gh-Deadline-Ms',
  /** Set on the repeat of a call that was not answered. */
  repeat: 'Gh-Repeat',
  traceparent: 'traceparent',
  delivery: 'Gh-Delivery',
  work: 'Gh-Work',
  reason: 'Gh-Reason',
  error: 'Gh-Error',
} as const
