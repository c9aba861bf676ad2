import type { Plan } from './measure.ts'

/** Calls in flight, in every comparison of throughput and on both of its sides. */
export const WORKERS = 16
/** Calls in flight while work is put there that is then measured. */
export const FILL_WORKERS = 64

/** Todos to claim must be made first, which takes as long again. */
export const claimPlan = (quick: boolean): Plan => ({
  rounds: quick ? 2 : 5,
  round_seconds: quick ? 0.7 : 1.5,
  first_operations: 100,
  // What the tasks service remembers of its records; beyond it a claim needs a read more.
  operations_max: 8_000,
})

export const callPlan = (quick: boolean): Plan => ({
  rounds: quick ? 3 : 5,
  round_seconds: quick ? 0.7 : 1.5,
  first_operations: 500,
  operations_max: 100_000,
})
