import { ServiceError } from '@guildhall/contracts'

/**
 * Work on one thing, one at a time within this process. It decides nothing: what may run beside it
 * on another replica must be safe without it. It keeps a crowd that wants the same thing from
 * occupying every database connection, when all but one of them will be refused.
 */
export type Turns = <T>(key: string, work: () => Promise<T>) => Promise<T>

const WAITING_MAX = 1_000

export const openTurns = (): Turns => {
  const last = new Map<string, Promise<unknown>>()
  let waiting = 0
  return async (key, work) => {
    if (waiting >= WAITING_MAX) throw new ServiceError('unavailable', 'too many wait for a turn')
    const before = last.get(key)
    const turn = (async () => {
      waiting += 1
      await before?.catch(() => undefined)
      waiting -= 1
      return await work()
    })()
    last.set(key, turn)
    try {
      return await turn
    } finally {
      if (last.get(key) === turn) last.delete(key)
    }
  }
}
