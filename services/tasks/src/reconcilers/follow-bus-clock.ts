import { type Bus, serverTime } from '@guildhall/bus'
import { buckets } from '@guildhall/contracts'
import { interval, type Logger, type Part, type SteadyClock } from '@guildhall/runtime'

/**
 * Leases are judged by the steady clock of a replica and timed by JetStream. This keeps the two, and
 * so all replicas, together: after a suspend, or when a replica starts on a wrong wall clock, the
 * server's time is taken over.
 */

const EVERY_MS = 5_000
const TOLERATED_MS = 1_000
/** A slow answer says too little about the time. */
const ROUND_TRIP_MAX_MS = 500
const START_TRIES = 20

export const followBusClock = (bus: Bus, clock: SteadyClock, log: Logger): Part => {
  /** False: the answer was too slow to say anything. */
  const follow = async (): Promise<boolean> => {
    const server = await serverTime(bus, `KV_${buckets.work}`)
    if (server === undefined) return true
    if (server.round_trip_ms > ROUND_TRIP_MAX_MS) return false
    const off_ms = Math.round(server.at - clock.now())
    if (Math.abs(off_ms) <= TOLERATED_MS) return true
    clock.adopt(server.at + server.round_trip_ms / 2)
    log.warn({ off_ms }, 'the clock was off from the bus and follows it now')
    return true
  }
  const periodic = interval({
    name: 'follow-bus-clock',
    every_ms: EVERY_MS,
    log,
    run: async () => {
      await follow()
    },
  })
  return {
    name: periodic.name,
    start: async () => {
      // No lease is judged before the clock is known to be right.
      for (let tried = 1; tried <= START_TRIES && !(await follow()); tried += 1) {
        log.warn({ tried }, 'the bus answers too slowly to tell its time')
      }
      await periodic.start()
    },
    stop: periodic.stop,
  }
}
