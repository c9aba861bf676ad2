import {
  agentKey,
  holdsItem,
  namedError,
  type Principal,
  type SecretScope,
  ServiceError,
  taskItemId,
  taskKey,
  workKey,
} from '@guildhall/contracts'
import type { Deps } from './deps.ts'

/** Whose a scope is, and who may use it. Foreign and unknown are one answer. */

type AccessDeps = Pick<Deps, 'agents' | 'tasks' | 'work' | 'standing' | 'clock'>

export interface Scope {
  readonly scope_type: SecretScope
  readonly scope_id: number
}

const isOwn = async (
  { agents, tasks }: AccessDeps,
  user_id: number,
  { scope_type, scope_id }: Scope,
): Promise<boolean> => {
  if (scope_type === 'user') return scope_id === user_id
  if (scope_type === 'agent') return (await agents.get(agentKey(user_id, scope_id))) !== undefined
  return (await tasks.get(taskKey(user_id, scope_id))) !== undefined
}

/** Throws unless the owner may keep secrets there. */
export const checkOwnScope = async (
  deps: AccessDeps,
  user_id: number,
  scope: Scope,
): Promise<void> => {
  if (await isOwn(deps, user_id, scope)) return
  throw new ServiceError('not_found', `no such ${scope.scope_type}`)
}

/** The scopes from which a caller's secrets come; null: none of that kind. */
export interface Reach {
  readonly user_id: number
  readonly agent_id: number | null
  readonly task_id: number | null
}

/** Throws unless the agent holds the task now, or is the one to verify it; its owner always may. */
const checkTask = async (
  { tasks, work, clock }: AccessDeps,
  principal: Principal,
  task_id: number,
): Promise<void> => {
  const { user_id } = principal
  const task = await tasks.get(taskKey(user_id, task_id))
  if (task === undefined) throw namedError('ErrTaskNotFound', 'no such task')
  if (principal.kind === 'human') return
  if (task.value.verifier_agent_id === principal.agent_id) return
  const item = await work.get(workKey(user_id, taskItemId(task_id)))
  if (item !== undefined && holdsItem(item.value, principal.agent_id, clock.now())) return
  throw namedError('ErrMissingTaskContext', 'you neither hold nor verify this task')
}

export const reachOf = async (
  deps: AccessDeps,
  principal: Principal,
  task_id: number | undefined,
): Promise<Reach> => {
  if (task_id !== undefined) await checkTask(deps, principal, task_id)
  return {
    user_id: principal.user_id,
    agent_id: principal.kind === 'agent' ? principal.agent_id : null,
    task_id: task_id ?? null,
  }
}

/** An agent in quarantine keeps what it has and starts nothing new, least of all with a secret. */
export const checkStanding = async (
  { standing }: AccessDeps,
  { user_id, agent_id }: Reach,
): Promise<void> => {
  if (agent_id === null) return
  const entry = await standing.get(agentKey(user_id, agent_id))
  if (entry?.value.quarantined === true) {
    throw namedError('ErrAgentQuarantined', 'this agent is in quarantine')
  }
}
