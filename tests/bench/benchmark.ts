import type { SystemService } from '@guildhall/testing'
import type { Guildhall, GuildhallOptions } from './guildhall.ts'
import type { Progress, Summary } from './measure.ts'

/** What each file of this folder with a benchmark exports. */
export interface Benchmark {
  readonly name: string
  readonly run: (bench: Bench) => Promise<readonly Row[]>
}

/** One line of the table: something of ours, what it is held against, and what we promised. */
export interface Row {
  readonly title: string
  readonly ours: Summary
  /** Absent where the promise is an absolute one. */
  readonly reference?: Summary
  readonly ratio?: number
  readonly target: Target
  /** What the target speaks about. */
  readonly value: number
  /** Default: operations per second. */
  readonly shows?: 'rate' | 'latency'
  readonly note?: string
}

export type Target =
  | { readonly kind: 'at_least'; readonly limit: number; readonly unit: 'x' }
  | { readonly kind: 'more_than'; readonly limit: number; readonly unit: 'x' }
  | { readonly kind: 'at_most'; readonly limit: number; readonly unit: 'x' | 'ms' }
  | { readonly kind: 'none' }

export const isMet = ({ value, target }: Row): boolean => {
  switch (target.kind) {
    case 'at_least':
      return value >= target.limit
    case 'more_than':
      return value > target.limit
    case 'at_most':
      return value <= target.limit
    case 'none':
      return true
  }
}

/** What a run gives to each benchmark. */
export interface Bench {
  readonly quick: boolean
  readonly progress: Progress
  /** The system that benchmarks share; started by the first that asks. */
  guildhall(): Promise<Guildhall>
  /** One of its own, stopped at the end of the benchmark. */
  ownGuildhall(options: GuildhallOptions): Promise<Guildhall>
  /** Runs it; with --profile, while the services are watched. */
  profile<T>(services: readonly SystemService[], run: () => Promise<T>): Promise<T>
  /** To be stopped at the end of the benchmark, whatever becomes of it. */
  onEnd(stop: () => Promise<void>): void
}
