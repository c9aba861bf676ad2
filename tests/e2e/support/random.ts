/** Numbers that look random and are the same for the same seed, so that a failure can be repeated. */
export interface Random {
  /** 0 to below `limit`. */
  below(limit: number): number
  chance(probability: number): boolean
  pick<T>(values: readonly [T, ...(readonly T[])]): T
  bytes(length: number): Buffer
}

/** mulberry32, by Tommy Ettinger; public domain. */
export const randomFrom = (seed: number): Random => {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let value = Math.imul(state ^ (state >>> 15), state | 1)
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61)
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number): number => Math.floor(next() * limit)
  return {
    below,
    chance: (probability) => next() < probability,
    pick: (values) => values[below(values.length)] ?? values[0],
    bytes: (length) => Buffer.from(Array.from({ length }, () => below(256))),
  }
}
