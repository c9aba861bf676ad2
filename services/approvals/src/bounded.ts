import { ServiceError } from '@guildhall/contracts'

interface Bounds {
  readonly at_once: number
  readonly waiting_max: number
  /** What whoever finds no place is told. */
  readonly refusal: string
}

/** Runs at most `at_once` pieces of work; a few may wait, the rest is told to come back. */
export const bounded = ({ at_once, waiting_max, refusal }: Bounds) => {
  let running = 0
  const waiting: (() => void)[] = []
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= at_once) {
      if (waiting.length >= waiting_max) {
        throw new ServiceError('unavailable', refusal)
      }
      // Whoever ends hands over its place, so `running` stays as it is meanwhile.
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else {
      running += 1
    }
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }
}
