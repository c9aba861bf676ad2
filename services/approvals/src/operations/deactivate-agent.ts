import type { Handler } from '@guildhall/bus'
import { deactivateAgent } from '@guildhall/contracts'
import { transaction } from '@guildhall/db'
import { callOf } from '../call.ts'
import { deactivateAgentIn } from '../deactivate-agent.ts'
import type { Deps } from '../deps.ts'
import { shownAgent } from '../store/agents.ts'

export const handleDeactivateAgent =
  (deps: Deps): Handler<typeof deactivateAgent> =>
  async (ctx, input) => {
    const call = callOf(deps, ctx, deactivateAgent, input)
    const key = { user_id: call.user_id, agent_id: input.agent_id }
    const agent = await transaction(deps.db, (trx) => deactivateAgentIn(trx, call, key))
    await deps.settle()
    return shownAgent(agent)
  }
