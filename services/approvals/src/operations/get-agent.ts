import type { Handler } from '@guildhall/bus'
import type { getAgent } from '@guildhall/contracts'
import { noSuchAgent } from '../agents.ts'
import type { Deps } from '../deps.ts'
import { findAgent, shownAgent } from '../store/agents.ts'

export const handleGetAgent =
  ({ db }: Deps): Handler<typeof getAgent> =>
  async ({ principal: { user_id } }, { agent_id }) => {
    const agent = await findAgent(db, { user_id, agent_id })
    if (agent === undefined) throw noSuchAgent()
    return shownAgent(agent)
  }
