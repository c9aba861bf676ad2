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
