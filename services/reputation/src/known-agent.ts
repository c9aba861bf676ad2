import { agentKey, ServiceError } from '@guildhall/contracts'
import type { Deps } from './deps.ts'
import { type AgentKey, findAgent, type KnownAgent } from './store/agents.ts'

/**
 * The agent as the events told of it. One that was made a moment ago, of which no event has come
 * yet, is known from the bucket of its owner's agents. Somebody else's is unknown.
 */
export const knownAgent = async (deps: Deps, key: AgentKey): Promise<KnownAgent> => {
  const agent = await findAgent(deps.db, key)
  if (agent !== undefined) return agent
  const entry = await deps.agents.get(agentKey(key.user_id, key.agent_id))
  if (entry === undefined) throw new ServiceError('not_found', 'there is no such agent')
  const { agent_id, name, config_hash } = entry.value
  return { agent_id, name, config_hash, quarantined: false }
}
