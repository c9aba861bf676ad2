import { consume, decode, durables, type StreamMessage } from '@guildhall/bus'
import { DeliveryMeta, headers as headerNames, streams } from '@guildhall/contracts'
import { query } from '@guildhall/db'
import type { Part } from '@guildhall/runtime'
import type { Deps } from '../deps.ts'
import { insertEvents, type ReceivedDelivery } from '../store/events.ts'

/**
 * Writes accepted deliveries into the history. A redelivery changes nothing, for a row is unique by
 * its todo; so no inbox is needed, and the database may be down for as long as it likes.
 */

// Bodies in messages have up to 1 MiB: this bounds what waits in memory.
const IN_FLIGHT_MAX = 64
const BATCH = 16
const CONCURRENCY = 2
/** A statement costs little more for a batch than for one event. */
const LINGER_MS = 50

const readDelivery = ({ headers, data }: StreamMessage): ReceivedDelivery => {
  const meta = decode(DeliveryMeta, headers[headerNames.delivery])
  return { meta, endpoint_id: meta.endpoint_id, body: data }
}

export const keepHistory = ({ bus, db, log }: Pick<Deps, 'bus' | 'db' | 'log'>): Part =>
  consume(bus, {
    stream: streams.deliveries,
    durable: durables.ingestHistory,
    log,
    max_in_flight: IN_FLIGHT_MAX,
    batch: BATCH,
    linger_ms: LINGER_MS,
    concurrency: CONCURRENCY,
    handle: async (messages) => {
      // A replay is no event of its own: it repeats one that is already here.
      const received = messages.map(readDelivery).filter(({ meta }) => meta.replay_of === undefined)
      await query(() => insertEvents(db, received))
    },
  })
