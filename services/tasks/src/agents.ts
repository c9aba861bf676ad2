import { type Bus, createKv, listKeys, mirrorKv } from '@guildhall/bus'
import { AgentRecord, agentKey, buckets } from '@guildhall/contracts'
import type { Logger, Part } from '@guildhall/runtime'

/**
 * The agents of every owner, kept in memory. A mirror may be a moment behind; so what it shows is
 * good for showing, and before somebody is refused, or chosen, the bucket itself is read.
 */
export interface Agents extends Part {
  /** As last seen. */
  get(user_id: number, agent_id: number): AgentRecord | undefined
  /** As it is now, and active. */
  findActive(user_id: number, agent_id: number): Promise<AgentRecord | undefined>
  /** The owner's active agent that coordinates by this template; the eldest of several. */
  findCoordinator(user_id: number, template: string): Promise<AgentRecord | undefined>
  /** The owner's active agents, as last seen. */
  activeOf(user_id: number): readonly AgentRecord[]
}

/** Agents read at once when the mirror does not know what is asked for. */
const READS_AT_ONCE = 32

const isActive = (agent: AgentRecord | undefined): agent is AgentRecord =>
  agent?.status === 'active'

export const openAgents = (bus: Bus, log: Logger): Agents => {
  const kv = createKv(bus, buckets.agents, AgentRecord)
  const mirror = mirrorKv(bus, buckets.agents, AgentRecord, { log })

  const findActive = async (user_id: number, agent_id: number) => {
    const agent = (await kv.get(agentKey(user_id, agent_id)))?.value
    return isActive(agent) ? agent : undefined
  }

  const activeOf = (user_id: number): readonly AgentRecord[] =>
    [...mirror.entries()]
      .map(([, agent]) => agent)
      .filter((agent) => agent.user_id === user_id && isActive(agent))

  const readAll = async (user_id: number): Promise<AgentRecord[]> => {
    const keys = await listKeys(bus, buckets.agents, `${user_id}.*`)
    const found: AgentRecord[] = []
    for (let start = 0; start < keys.length; start += READS_AT_ONCE) {
      const some = keys.slice(start, start + READS_AT_ONCE)
      const entries = await Promise.all(some.map((key) => kv.get(key)))
      found.push(...entries.map((entry) => entry?.value).filter(isActive))
    }
    return found
  }

  return {
    name: 'agents',
    start: () => mirror.start(),
    stop: () => mirror.stop(),
    get: (user_id, agent_id) => mirror.get(agentKey(user_id, agent_id)),
    findActive,
    activeOf,
    findCoordinator: async (user_id, template) => {
      const eldest = (agents: readonly AgentRecord[]) =>
        agents
          .filter((agent) => agent.coordinator_template === template)
          .sort((a, b) => a.agent_id - b.agent_id)[0]
      const known = eldest(activeOf(user_id))
      const still = known === undefined ? undefined : await findActive(user_id, known.agent_id)
      if (still?.coordinator_template === template) return still
      return eldest(await readAll(user_id))
    },
  }
}
