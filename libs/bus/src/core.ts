import { Buffer } from 'node:buffer'
import type { z } from 'zod'
import type { Bus } from './connect.ts'

/** Lossy by design: doorbells and what only matters now. */
export const publishCore = (bus: Bus, subject: string, payload: object): void => {
  if (!bus.connected()) return
  bus.nc.publish(subject, JSON.stringify(payload))
}

interface CoreOptions {
  /** One member of the group gets each message, over all processes. */
  readonly queue?: string
}

/** What does not match the schema is dropped and logged, never handed on. */
export const subscribeCore = <T>(
  bus: Bus,
  subject: string,
  { queue }: CoreOptions,
  schema: z.ZodType<T>,
  handle: (payload: T, subject: string) => void,
): { stop(): void } => {
  const subscription = bus.nc.subscribe(subject, {
    ...(queue === undefined ? {} : { queue }),
    callback: (error, message) => {
      if (error !== null) {
        bus.log.warn({ err: error, subject }, 'subscription error')
        return
      }
      try {
        handle(
          schema.parse(JSON.parse(Buffer.from(message.data).toString('utf8'))),
          message.subject,
        )
      } catch (err) {
        bus.log.warn({ err, subject: message.subject }, 'core message dropped')
      }
    },
  })
  return { stop: () => subscription.unsubscribe() }
}
