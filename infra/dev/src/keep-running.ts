import { setTimeout as sleep } from 'node:timers/promises'
import type { ExitStatus } from '@guildhall/testing'

/** A process of ours that runs now. */
interface RunningUnit {
  readonly pid: number
  readonly exited: Promise<ExitStatus>
  stop(): Promise<unknown>
}

/** A process that should always run, and how to start it. */
export interface Unit {
  name: string
  start(): Promise<RunningUnit>
}

export interface KeptUnit {
  readonly name: string
  readonly pid: number | undefined
  /** How often it has ended without being asked to. */
  readonly exits: number
  stop(): Promise<void>
}

export interface KeepRunningEvents {
  /** A new pid, or none. */
  onChange(): void
  onEvent(message: string, details: Record<string, unknown>): void
}

const FIRST_DELAY_MS = 500
const MAX_DELAY_MS = 30_000
// Whoever ran this long was well; its next restart is prompt again.
const WELL_AFTER_MS = 60_000

/**
 * Starts it, and again whenever it ends, each time after a longer pause. The first start is
 * awaited, and its failure is the caller's.
 */
export const keepRunning = async (unit: Unit, events: KeepRunningEvents): Promise<KeptUnit> => {
  const stopping = new AbortController()
  let current: RunningUnit | undefined = await unit.start()
  let exits = 0
  events.onChange()

  const restart = async (): Promise<void> => {
    try {
      current = await unit.start()
      // Asked to stop while it was starting.
      if (stopping.signal.aborted) await current.stop()
      else events.onEvent('restarted', { unit: unit.name, pid: current.pid })
    } catch (error) {
      events.onEvent('cannot start', { unit: unit.name, err: String(error) })
    }
    events.onChange()
  }

  const supervise = async (): Promise<void> => {
    let delay_ms = FIRST_DELAY_MS
    while (!stopping.signal.aborted) {
      const since = performance.now()
      const status = await current?.exited
      current = undefined
      if (stopping.signal.aborted) return
      exits++
      events.onChange()
      if (performance.now() - since > WELL_AFTER_MS) delay_ms = FIRST_DELAY_MS
      events.onEvent('ended', { unit: unit.name, ...status, restart_in_ms: delay_ms })
      await sleep(delay_ms, undefined, { signal: stopping.signal }).catch(() => {})
      delay_ms = Math.min(delay_ms * 2, MAX_DELAY_MS)
      if (!stopping.signal.aborted) await restart()
    }
  }
  const supervision = supervise()

  return {
    name: unit.name,
    get pid() {
      return current?.pid
    },
    get exits() {
      return exits
    },
    stop: async () => {
      stopping.abort()
      await current?.stop()
      await supervision
      current = undefined
      events.onChange()
    },
  }
}
