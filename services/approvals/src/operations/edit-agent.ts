import type { Handler } from '@guildhall/bus'
import { editAgent } from '@guildhall/contracts'
import { transaction } from '@guildhall/db'
import { editAgentIn } from '../agents.ts'
import { callOf } from '../call.ts'
import type { Deps } from '../deps.ts'
import { checkStorable } from '../storable-json.ts'
import { shownAgent } from '../store/agents.ts'

/** A repeat finds nothing to change, and answers as the first did. */
export const handleEditAgent =
  (deps: Deps): Handler<typeof editAgent> =>
  async (ctx, input) => {
    const call = callOf(deps, ctx, editAgent, input)
    const { agent_id, ...changes } = input
    checkStorable(changes, 'agent')
    const key = { user_id: call.user_id, agent_id }
    const agent = await transaction(deps.db, (trx) => editAgentIn(trx, call, key, changes))
    await deps.settle()
    return shownAgent(agent)
  }
