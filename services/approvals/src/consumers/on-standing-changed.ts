import { durables } from '@guildhall/bus'
import { type StandingChanged, standingChanged } from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import type { Part } from '@guildhall/runtime'
import { announceAgentEntry } from '../announce.ts'
import { auditOf } from '../call.ts'
import { updateStanding } from '../store/agents.ts'
import { tellOwnerIn } from '../tell.ts'
import { type EventDeps, eachOnce } from './each-once.ts'

/** Quarantine is decided elsewhere, from evidence; here it is kept with the agent and made known. */
const applyStanding = async (trx: Trx, event: StandingChanged): Promise<void> => {
  const { user_id, agent_id, quarantined, reason, by_user_id } = event
  const at = new Date(event.at)
  const agent = await updateStanding(trx, {
    user_id,
    agent_id,
    quarantined_at: quarantined ? at : null,
    quarantine_reason: quarantined ? reason : null,
    at,
  })
  if (agent === undefined) return
  await announceAgentEntry(trx, agent)
  const action = quarantined ? 'agent.quarantined' : 'agent.unquarantined'
  await auditOf(trx, user_id, at, action, `agent:${agent_id}`, { reason, by_user_id })
  await tellOwnerIn(
    trx,
    { user_id, now: at },
    {
      body: quarantined
        ? `${agent.name} is in quarantine and takes no more work: ${reason ?? 'no reason given'}`
        : `${agent.name} is out of quarantine.`,
      metadata: { agent_id, quarantined },
    },
  )
}

export const onStandingChanged = (events: EventDeps): Part =>
  eachOnce(events, {
    durable: durables.approvalsStanding,
    schema: standingChanged.schema,
    apply: applyStanding,
  })
