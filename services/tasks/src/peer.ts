import type { Tasks } from './context.ts'
import type { TaskItem } from './task-item.ts'

/**
 * Why this agent may not judge what was handed in; undefined: it may. A verdict is worth something
 * only from somebody else: not from the worker, nor from a copy of it under another name.
 */
export const whyNotPeer = async (
  tasks: Pick<Tasks, 'agents' | 'standing'>,
  record: TaskItem,
  agent_id: number,
): Promise<string | undefined> => {
  const { task, owner_id } = record
  if (task.holder_agent_id === agent_id) return 'did the work itself'
  // Foreign agents are not among those of this owner, and so are not active here either.
  const agent = await tasks.agents.findActive(owner_id, agent_id)
  if (agent === undefined) return 'is not an active agent of this owner'
  if (agent.config_hash === task.config_hash) return 'has the same configuration as the worker'
  if (await tasks.standing.isQuarantined(owner_id, agent_id)) return 'is in quarantine'
  return undefined
}
