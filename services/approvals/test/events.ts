import { streams } from '@guildhall/contracts'
import { waitFor } from '@guildhall/testing'
import type { z } from 'zod'
import type { Setup } from './setup.ts'

export interface EventKind<S extends z.ZodType> {
  readonly subject: string
  readonly schema: S
}

/** All events of a kind that came into the stream after that; waits until there is one. */
export const eventsOf = async <S extends z.ZodType>(
  s: Setup,
  { subject, schema }: EventKind<S>,
  after_sequence: number,
): Promise<z.output<S>[]> => {
  await s.deps.settle()
  return await waitFor(
    async () => {
      const { state } = await s.bus.jsm.streams.info(streams.events)
      const found: z.output<S>[] = []
      for (let seq = after_sequence + 1; seq <= state.last_seq; seq += 1) {
        const message = await s.bus.jsm.streams.getMessage(streams.events, { seq })
        if (message.subject !== subject) continue
        found.push(schema.parse(JSON.parse(Buffer.from(message.data).toString('utf8'))))
      }
      return found.length > 0 && found
    },
    { what: `an event ${subject}` },
  )
}
