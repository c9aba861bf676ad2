/** Seeded, so that a run's decisions can be had again; what the machine makes of them cannot. */
export interface Random {
  /** In [0, 1). */
  next(): number
  between(least: number, most: number): number
  int(least: number, most: number): number
  chance(share: number): boolean
  pick<T>(of: readonly T[]): T
  shuffle<T>(of: readonly T[]): T[]
  /** A stream of its own, so that one actor's decisions do not depend on the speed of another. */
  fork(name: string): Random
}

const hash = (text: string): number => {
  let value = 0x811c9dc5
  for (const char of text) value = Math.imul(value ^ (char.codePointAt(0) ?? 0), 0x01000193)
  return value >>> 0
}

/** mulberry32 */
const generator = (seed: number): (() => number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

export const seededRandom = (seed: number): Random => {
  const next = generator(seed)
  const between = (least: number, most: number): number => least + next() * (most - least)
  const int = (least: number, most: number): number => Math.floor(between(least, most + 1))
  return {
    next,
    between,
    int,
    chance: (share) => next() < share,
    pick: (of) => {
      const one = of[Math.floor(next() * of.length)]
      if (one === undefined) throw new Error('nothing to pick from')
      return one
    },
    shuffle: (of) => {
      const rest = [...of]
      return of.flatMap(() => rest.splice(Math.floor(next() * rest.length), 1))
    },
    fork: (name) => seededRandom(hash(`${seed}/${name}`)),
  }
}
