import { z } from 'zod'
import { AgentId, EndpointId, QueueName, UserId } from './ids.ts'
import { SourceType } from './source-types.ts'

/** What an endpoint may do. Part of every agent principal, so that a service needs no look-up. */
export const EndpointScope = z.strictObject({
  tools: z.array(z.string()),
  queues: z.array(QueueName),
  webhook_max: z.int().min(0),
  webhook_source_types: z.array(SourceType),
  webhook_queues: z.array(QueueName),
  /** Absent: it could not be read, so a claim that relies on it is refused. */
  default_lease_ttl_seconds: z.int().nullable().optional(),
  require_fence: z.boolean(),
})
export type EndpointScope = z.infer<typeof EndpointScope>

export const HumanPrincipal = z.strictObject({
  kind: z.literal('human'),
  user_id: UserId,
})
export type HumanPrincipal = z.infer<typeof HumanPrincipal>

export const AgentPrincipal = z.strictObject({
  kind: z.literal('agent'),
  user_id: UserId,
  agent_id: AgentId,
  agent_name: z.string(),
  endpoint_id: EndpointId,
  scope: EndpointScope,
})
export type AgentPrincipal = z.infer<typeof AgentPrincipal>

/** Who calls. `user_id` is the tenant of every statement that follows, for both kinds. */
export const Principal = z.discriminatedUnion('kind', [HumanPrincipal, AgentPrincipal])
export type Principal = z.infer<typeof Principal>

/** How a principal appears as the holder of a work item. */
export const holderName = (principal: Principal): string =>
  principal.kind === 'agent' ? `agent:${principal.agent_id}` : `human:${principal.user_id}`

/** A human sees all queues of their own; an agent the granted ones. */
export const mayUseQueue = (principal: Principal, queue: string): boolean =>
  principal.kind === 'human' || principal.scope.queues.includes(queue)
