import type { Handler } from '@guildhall/bus'
import type { unquarantineAgent } from '@guildhall/contracts'
import { transaction } from '@guildhall/db'
import { announceStanding } from '../announce.ts'
import type { Deps } from '../deps.ts'
import { knownAgent } from '../known-agent.ts'
import { lockOwner } from '../store/owner-lock.ts'
import { liftQuarantine } from '../store/standing.ts'

export const handleUnquarantineAgent =
  (deps: Deps): Handler<typeof unquarantineAgent> =>
  async ({ principal }, { agent_id }) => {
    const { user_id } = principal
    await knownAgent(deps, { user_id, agent_id })
    await transaction(deps.db, async (trx) => {
      await lockOwner(trx, user_id)
      const at = new Date(deps.clock.now())
      const lifted = await liftQuarantine(trx, { user_id, agent_id, at })
      if (lifted !== undefined) await announceStanding(trx, lifted, user_id)
    })
    // Also when there was nothing to lift: a repeat must not answer before the first is in force.
    await deps.settle()
    return { agent_id, status: 'active' }
  }
