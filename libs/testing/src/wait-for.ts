import { setTimeout as sleep } from 'node:timers/promises'

interface WaitOptions {
  timeout_ms?: number
  interval_ms?: number
  /** What is awaited, as it should read in the error: `timed out waiting for <what>`. */
  what: string
}

const DEFAULT_TIMEOUT_MS = 10_000
const DEFAULT_INTERVAL_MS = 20

type Falsy = false | null | undefined | '' | 0

/**
 * Calls `check` until it answers something truthy, and returns that. A check that throws counts as
 * "not yet": its last error becomes the cause when the time is over.
 */
export const waitFor = async <T>(
  check: () => Promise<T | Falsy> | T | Falsy,
  { timeout_ms = DEFAULT_TIMEOUT_MS, interval_ms = DEFAULT_INTERVAL_MS, what }: WaitOptions,
): Promise<T> => {
  // performance.now: a clock jump, which chaos tests make on purpose, must not end the wait.
  const deadline = performance.now() + timeout_ms
  let cause: unknown
  for (;;) {
    try {
      const result = await check()
      if (result) return result
      cause = undefined
    } catch (error) {
      cause = error
    }
    if (performance.now() >= deadline) {
      throw new Error(`timed out after ${timeout_ms} ms waiting for ${what}`, { cause })
    }
    await sleep(interval_ms)
  }
}
