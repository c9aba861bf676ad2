import { readFileSync, unwatchFile, watchFile } from 'node:fs'

/** Milliseconds since the epoch. Everything that decides by time is given one of these. */
export interface Clock {
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

const OFFSET_POLL_MS = 50

interface ClockConfig {
  readonly NODE_ENV: string
  readonly CLOCK_OFFSET_FILE?: string | undefined
}

/**
 * The system's clock; outside production shifted by what a file says, so that a test can make the
 * clock of one running process jump.
 */
export const clockFrom = (config: ClockConfig): Clock & { close(): void } => {
  const file = config.CLOCK_OFFSET_FILE
  if (file === undefined || config.NODE_ENV === 'production') {
    return { now: systemClock.now, close: () => undefined }
  }
  let offset_ms = 0
  const read = (): void => {
    try {
      const value = Number(readFileSync(file, 'utf8').trim())
      if (Number.isFinite(value)) offset_ms = value
    } catch {
      offset_ms = 0 // no file: no offset
    }
  }
  read()
  watchFile(file, { interval: OFFSET_POLL_MS, persistent: false }, read)
  return { now: () => Date.now() + offset_ms, close: () => unwatchFile(file) }
}

/** A wall clock off by more than this from the steady one has been set, not merely drifted. */
const JUMP_MS = 250

export interface SteadyClock extends Clock {
  /** Takes over a time that another authority (the bus) agrees on. */
  adopt(reference_ms: number): void
}

/**
 * A clock for leases. It moves with the monotonic clock and follows the wall clock only while the
 * two agree: a replica whose wall clock jumps ahead must not see leases as lapsed that are not.
 * Being slow is safe (a lapse is noticed later), being fast is not (two holders).
 */
export const steadyClock = (
  wall: Clock,
  onJump?: (jump_ms: number) => void,
  monotonic_ms: () => number = () => performance.now(),
): SteadyClock => {
  let base = wall.now() - monotonic_ms()
  let reported = 0
  return {
    now: () => {
      const steady = base + monotonic_ms()
      const jump_ms = wall.now() - steady
      if (Math.abs(jump_ms) <= JUMP_MS) {
        reported = 0
        return Math.round(steady)
      }
      if (Math.abs(jump_ms - reported) > JUMP_MS) {
        reported = jump_ms
        onJump?.(Math.round(jump_ms))
      }
      return Math.round(steady)
    },
    adopt: (reference_ms) => {
      base = reference_ms - monotonic_ms()
    },
  }
}
