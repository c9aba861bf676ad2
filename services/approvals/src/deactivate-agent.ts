import type { Trx } from '@guildhall/db'
import { existingAgent } from './agents.ts'
import { announceAgent } from './announce.ts'
import { audit, type Call } from './call.ts'
import { revokeEndpointIn } from './endpoints.ts'
import { type AgentKey, deactivateActiveAgent, type StoredAgent } from './store/agents.ts'
import { activeEndpointsOf } from './store/endpoints.ts'
import { withdrawAllOf } from './withdraw.ts'

/**
 * The end of an agent: its credentials stop, its claims end (with its endpoints), and nobody has to
 * decide any more on what it asked for. The second time there is nothing left to do.
 */
export const deactivateAgentIn = async (
  trx: Trx,
  call: Call,
  key: AgentKey,
): Promise<StoredAgent> => {
  const agent = await deactivateActiveAgent(trx, key)
  if (agent === undefined) return await existingAgent(trx, key)
  // Bounded by the ceiling of endpoints per owner; none is added, since the agent is inactive.
  for (const { endpoint_id } of await activeEndpointsOf(trx, key)) {
    await revokeEndpointIn(trx, call, { user_id: key.user_id, endpoint_id })
  }
  await withdrawAllOf(trx, call, key.agent_id)
  await announceAgent(trx, agent, { change: 'deactivated', seed: null, at: call.now })
  await audit(trx, call, 'agent.deactivated', `agent:${agent.agent_id}`, {
    version: agent.version,
  })
  return agent
}
