import type { CallContext } from '@guildhall/bus'
import {
  type AgentPrincipal,
  type AgentRecord,
  holderName,
  namedError,
  type ServiceError,
} from '@guildhall/contracts'
import type { Tasks } from './context.ts'
import { leaseMs } from './lease-length.ts'
import { hashOf, leaseToken } from './lease-token.ts'
import type { TaskClaim, TaskItem } from './task-item.ts'

/** Who claims a task, and on what terms. */

export const taskNotFound = (task_id: number): ServiceError =>
  namedError('ErrTaskNotFound', `there is no task ${task_id}`)

/** The evidence about a task is about an agent, so nobody else can take one. */
export const requireAgent = ({ principal }: Pick<CallContext, 'principal'>): AgentPrincipal => {
  if (principal.kind === 'agent') return principal
  throw namedError('ErrNotPermitted', 'only an agent can take a task', {
    what_to_do: 'Let one of your agents claim it, or verify its work.',
  })
}

export const requireActive = (agent: AgentRecord | undefined): AgentRecord => {
  if (agent !== undefined) return agent
  throw namedError('ErrNotPermitted', 'this agent is not active', {
    what_to_do: 'Ask your owner to make an active agent.',
  })
}

/**
 * A task is claimed by an agent, not by a call: whichever endpoint asks again, under whatever key,
 * the agent gets the lease that it has. So the token follows from the holder, the task and the
 * number of the claim.
 */
const claimKey = (holder: string): string => `task:${holder}`

export const tokenOfClaim = (
  tasks: Pick<Tasks, 'lease_token_key'>,
  record: TaskItem,
  holder: string,
  claim_seq: number,
): string => leaseToken(tasks.lease_token_key, record.id, claim_seq, claimKey(holder))

export const isHeldBy = (record: TaskItem, holder: string, now: number): boolean =>
  record.state === 'claimed' && record.holder === holder && (record.lease_until ?? 0) > now

interface Terms {
  readonly principal: AgentPrincipal
  readonly agent: AgentRecord
  readonly lease_ttl_seconds: number | undefined
}

export const claimOf = (
  tasks: Pick<Tasks, 'lease_token_key'>,
  record: TaskItem,
  { principal, agent, lease_ttl_seconds }: Terms,
): TaskClaim => {
  const holder = holderName(principal)
  return {
    holder,
    endpoint_id: principal.endpoint_id,
    claimer_kind: 'endpoint',
    claimant: null,
    lease_ms: leaseMs(principal, lease_ttl_seconds),
    require_fence: principal.scope.require_fence,
    lease_token_hash: hashOf(tokenOfClaim(tasks, record, holder, record.attempts_total + 1)),
    claim_key_hash: hashOf(claimKey(holder)),
    ack_subject: undefined,
    agent_id: principal.agent_id,
    config_hash: agent.config_hash,
  }
}
