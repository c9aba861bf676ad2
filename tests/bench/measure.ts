import { cpuSince, type Processes, readCpu } from './cpu.ts'

/**
 * How two things are compared. Each is run in short rounds, in turn, A/B/A/B, after a warm-up that
 * is thrown away: whatever else the machine does then hits both alike. The ratio is taken within
 * each pair of neighbours, and the median of these is reported, so that one bad moment counts once.
 */

export interface Round {
  readonly operations: number
  readonly seconds: number
  /** One per operation, in no order. */
  readonly latencies_ms: readonly number[]
}

export interface Arm {
  readonly label: string
  /** Whose CPU time is noted, by a name for each: what a busy machine does not distort. */
  readonly processes: Processes
  /** Puts the work there that `run` does; not measured. */
  readonly prepare?: (operations: number) => Promise<void>
  readonly run: (operations: number) => Promise<Round>
  /** Waits until nothing that `run` caused is still going on, so that the next arm does not pay. */
  readonly settle?: () => Promise<void>
}

export interface Plan {
  readonly rounds: number
  readonly round_seconds: number
  readonly first_operations: number
  readonly operations_max: number
}

export interface Measured extends Round {
  /** CPU time per operation, by process. */
  readonly cpu_ms: Readonly<Record<string, number>>
  readonly settle_seconds: number
}

export interface Summary {
  readonly label: string
  readonly per_second: number
  readonly p50_ms: number
  readonly p99_ms: number
  readonly operations: number
  readonly rounds: number
  readonly cpu_ms: Readonly<Record<string, number>>
  readonly settle_seconds: number
}

export const quantile = (values: readonly number[], q: number): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN
}

/** The mean of the middle two where there are two. */
export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2
}

export const rate = ({ operations, seconds }: Round): number => operations / seconds

export const summarize = (label: string, rounds: readonly Measured[]): Summary => {
  const names = Object.keys(rounds[0]?.cpu_ms ?? {})
  return {
    label,
    per_second: median(rounds.map(rate)),
    p50_ms: median(rounds.map((round) => quantile(round.latencies_ms, 0.5))),
    p99_ms: median(rounds.map((round) => quantile(round.latencies_ms, 0.99))),
    operations: rounds.reduce((sum, round) => sum + round.operations, 0),
    rounds: rounds.length,
    cpu_ms: Object.fromEntries(
      names.map((name) => [name, median(rounds.map((round) => round.cpu_ms[name] ?? 0))]),
    ),
    settle_seconds: median(rounds.map((round) => round.settle_seconds)),
  }
}

const seconds_since = (start_ms: number): number => (performance.now() - start_ms) / 1_000

const measure = async (arm: Arm, operations: number): Promise<Measured> => {
  await arm.prepare?.(operations)
  const before = readCpu(arm.processes)
  const round = await arm.run(operations)
  const cpu_ms = cpuSince(before, arm.processes, round.operations)
  const settling_ms = performance.now()
  await arm.settle?.()
  return { ...round, cpu_ms, settle_seconds: seconds_since(settling_ms) }
}

/**
 * The first finds out how fast the arms are; the others are as long as the measured ones, until the
 * processes of both arms have compiled what they run: they are young here, and old in production.
 */
const WARM_UP_ROUNDS = 5

export type Progress = (text: string) => void

/** Rounds of each arm, in the arms' order. Arms are sized to take equally long, by their last rate. */
export const interleave = async <A extends Arm>(
  arms: readonly A[],
  { rounds, round_seconds, first_operations, operations_max }: Plan,
  progress: Progress,
): Promise<Map<A, Measured[]>> => {
  const results = new Map<A, Measured[]>(arms.map((arm) => [arm, []]))
  const sizes = new Map<A, number>(arms.map((arm) => [arm, first_operations]))
  for (let number = 1 - WARM_UP_ROUNDS; number <= rounds; number += 1) {
    const shown: string[] = []
    for (const arm of arms) {
      const round = await measure(arm, sizes.get(arm) ?? first_operations)
      const wanted = Math.round(rate(round) * round_seconds)
      sizes.set(arm, Math.max(first_operations, Math.min(operations_max, wanted)))
      if (number > 0) results.get(arm)?.push(round)
      const p50_ms = quantile(round.latencies_ms, 0.5)
      shown.push(`${arm.label} ${Math.round(rate(round))}/s (p50 ${p50_ms.toFixed(2)} ms)`)
    }
    progress(`${number > 0 ? `round ${number}/${rounds}` : 'warm-up'}: ${shown.join(', ')}`)
  }
  return results
}

/** Median over the pairs of neighbouring rounds. */
export const pairedRatio = (
  ours: readonly Measured[],
  reference: readonly Measured[],
  value: (round: Measured) => number,
): number =>
  median(
    ours.flatMap((round, i) => {
      const other = reference[i]
      return other === undefined ? [] : [value(round) / value(other)]
    }),
  )
