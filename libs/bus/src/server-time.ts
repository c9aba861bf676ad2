import type { Bus } from './connect.ts'
import { busUnavailable } from './errors.ts'

interface ServerTime {
  /** ms since the epoch, at the middle of the round trip. */
  readonly at: number
  /** The answer can be wrong by half of this. */
  readonly round_trip_ms: number
}

/** What the server takes the time to be; undefined before 2.10, which does not say. */
export const serverTime = async (bus: Bus, stream: string): Promise<ServerTime | undefined> => {
  try {
    const started = performance.now()
    const message = await bus.nc.request(`$JS.API.STREAM.INFO.${stream}`, '', { timeout: 2_000 })
    const round_trip_ms = performance.now() - started
    const { ts } = message.json<{ ts?: string }>()
    if (ts === undefined) return undefined
    return { at: Date.parse(ts) + round_trip_ms / 2, round_trip_ms }
  } catch (error) {
    throw busUnavailable(error)
  }
}
