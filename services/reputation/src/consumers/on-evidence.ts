import { consume, decode, durables } from '@guildhall/bus'
import { evidenceEarned, streams } from '@guildhall/contracts'
import type { Part } from '@guildhall/runtime'
import type { Deps } from '../deps.ts'
import { earn } from '../earn.ts'
import { eventIdOf } from './event-id.ts'
import { hurry } from './hurry.ts'

const CONCURRENCY = 4

export const onEvidence = (deps: Deps): Part =>
  consume(deps.bus, {
    stream: streams.events,
    durable: durables.reputationEvidence,
    log: deps.log,
    max_in_flight: CONCURRENCY * 4,
    concurrency: CONCURRENCY,
    handle: async (messages) => {
      for (const message of messages) {
        await earn(deps, eventIdOf(message), decode(evidenceEarned.schema, message.data))
      }
      await hurry(deps)
    },
  })
