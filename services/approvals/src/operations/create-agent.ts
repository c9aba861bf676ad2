import type { Handler } from '@guildhall/bus'
import { createAgent } from '@guildhall/contracts'
import { transaction } from '@guildhall/db'
import { createAgentIn } from '../agents.ts'
import { callOf } from '../call.ts'
import type { Deps } from '../deps.ts'
import { checkStorable } from '../storable-json.ts'
import { shownAgent } from '../store/agents.ts'

export const handleCreateAgent =
  (deps: Deps): Handler<typeof createAgent> =>
  async (ctx, input) => {
    const call = callOf(deps, ctx, createAgent, input)
    checkStorable(input, 'agent')
    const agent = await transaction(deps.db, (trx) => createAgentIn(trx, call, input))
    await deps.settle()
    return shownAgent(agent)
  }
