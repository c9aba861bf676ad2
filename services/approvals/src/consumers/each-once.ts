import { type Bus, consume, decode } from '@guildhall/bus'
import { streams } from '@guildhall/contracts'
import { firstTime, type Trx, transaction } from '@guildhall/db'
import type { Logger, Part } from '@guildhall/runtime'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'

export interface EventDeps {
  readonly deps: Deps
  readonly bus: Bus
  readonly log: Logger
}

interface Listener<T> {
  readonly durable: string
  readonly schema: z.ZodType<T>
  /** Its effect, and nothing outside the transaction: it may be tried more than once. */
  readonly apply: (trx: Trx, event: T) => Promise<void>
}

const MAX_IN_FLIGHT = 32
const EVENT_ID_HEADER = 'Nats-Msg-Id'

/** Each event takes effect once: its id is noted in the transaction of the effect. */
export const eachOnce = <T>(
  { deps, bus, log }: EventDeps,
  { durable, schema, apply }: Listener<T>,
): Part =>
  consume(bus, {
    stream: streams.events,
    durable,
    log,
    max_in_flight: MAX_IN_FLIGHT,
    handle: async (messages) => {
      for (const { data, headers, stream_sequence } of messages) {
        const event = decode(schema, data)
        // Without an id of its own, its place in the stream is one.
        const event_id = headers[EVENT_ID_HEADER] ?? `seq-${stream_sequence}`
        await transaction(deps.db, async (trx) => {
          if (await firstTime(trx, durable, event_id)) await apply(trx, event)
        })
      }
    },
  })
