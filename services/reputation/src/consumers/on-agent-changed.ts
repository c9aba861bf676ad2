import { consume, decode, durables } from '@guildhall/bus'
import { type AgentChanged, agentChanged, streams } from '@guildhall/contracts'
import { firstTime, type Trx, transaction } from '@guildhall/db'
import type { Part } from '@guildhall/runtime'
import type { Deps } from '../deps.ts'
import { readScores } from '../domain-scores.ts'
import { quarantinesCounter } from '../metrics.ts'
import { findQuarantine, quarantine } from '../quarantine.ts'
import { seedConfig } from '../seed.ts'
import { upsertAgents } from '../store/agents.ts'
import { lockOwner } from '../store/owner-lock.ts'
import { eventIdOf } from './event-id.ts'
import { hurry } from './hurry.ts'

/**
 * Follows who has which configuration, and gives new ones what they inherit. An agent that takes on
 * a configuration which is quarantined is so itself: otherwise a new name would wash an old record.
 */
const follow = async (trx: Trx, event: AgentChanged, now_ms: number): Promise<number> => {
  const { user_id, agent } = event
  await seedConfig(trx, event)
  await upsertAgents(trx, [agent])
  const { scores } = await readScores(trx, {
    user_id,
    config_hash: agent.config_hash,
    domain: event.seed?.domain ?? '',
  })
  const finding = findQuarantine(scores, now_ms)
  return finding === undefined ? 0 : await quarantine(trx, finding, { now_ms, negative: false })
}

export const onAgentChanged = (deps: Deps): Part =>
  consume(deps.bus, {
    stream: streams.events,
    durable: durables.reputationAgents,
    log: deps.log,
    max_in_flight: 8,
    handle: async (messages) => {
      for (const message of messages) {
        const event = decode(agentChanged.schema, message.data)
        const quarantined = await transaction(deps.db, async (trx) => {
          await lockOwner(trx, event.user_id)
          if (!(await firstTime(trx, durables.reputationAgents, eventIdOf(message)))) return 0
          return await follow(trx, event, deps.clock.now())
        })
        quarantinesCounter.inc(quarantined)
      }
      await hurry(deps)
    },
  })
