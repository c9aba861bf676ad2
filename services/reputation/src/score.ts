import {
  QUARANTINE_BELOW,
  QUARANTINE_EVIDENCE_MIN,
  REPUTATION_HALF_LIFE_DAYS,
  REPUTATION_NEUTRAL,
  REPUTATION_PRIOR_WEIGHT,
} from '@guildhall/contracts'

/**
 * The score, without a database. An average and not a sum, with the prior as k units of evidence:
 * so a first success cannot lower it, idle time only brings it back to the prior, and nothing above
 * 1 can be saved up for bad days.
 *
 * Weights decay exponentially, so two sums decayed to one moment say all that a list of rows says:
 * an append touches one row instead of reading the history. That the two agree is what recompute
 * proves.
 */

export interface EvidenceRow {
  /** 0 to 1. */
  readonly outcome: number
  readonly weight: number
  readonly at_ms: number
}

export interface Sums {
  readonly weight: number
  /** Sum of weight x outcome. */
  readonly outcome: number
  /** The moment that both are decayed to: that of the newest row. */
  readonly as_of_ms: number
}

export const NO_EVIDENCE: Sums = { weight: 0, outcome: 0, as_of_ms: 0 }

const HALF_LIFE_MS = REPUTATION_HALF_LIFE_DAYS * 86_400_000

/** NaN becomes 0, too. */
const clamp01 = (value: number): number => (value > 0 ? Math.min(value, 1) : 0)

const usableWeight = (weight: number): number =>
  Number.isFinite(weight) && weight > 0 ? weight : 0

export const decay = (age_ms: number): number => 0.5 ** (Math.max(0, age_ms) / HALF_LIFE_MS)

export const sumsAt = ({ weight, outcome, as_of_ms }: Sums, at_ms: number): Sums => {
  const factor = decay(at_ms - as_of_ms)
  return {
    weight: weight * factor,
    outcome: outcome * factor,
    as_of_ms: Math.max(as_of_ms, at_ms),
  }
}

/** In whatever order rows come. */
export const addEvidence = (sums: Sums, row: EvidenceRow): Sums => {
  const { weight, outcome, as_of_ms } = sumsAt(sums, row.at_ms)
  const added = usableWeight(row.weight) * decay(as_of_ms - row.at_ms)
  return {
    weight: weight + added,
    outcome: outcome + added * clamp01(row.outcome),
    as_of_ms,
  }
}

/** Before the newest row there is no score: an earlier moment is taken for that of the row. */
export const scoreAt = (prior: number, sums: Sums, at_ms: number): number => {
  const { weight, outcome } = sumsAt(sums, at_ms)
  return clamp01(
    (REPUTATION_PRIOR_WEIGHT * clamp01(prior) + outcome) / (REPUTATION_PRIOR_WEIGHT + weight),
  )
}

/** An outcome below this speaks against whoever it is about. */
export const isNegative = (outcome: number): boolean => outcome < REPUTATION_NEUTRAL

const TWO_DECIMALS = 100

/**
 * Weight counts to two decimals: three rejections within an hour are three, although the first
 * has lost a thousandth by the time of the last.
 */
export const isQuarantineDue = (score: number, decayed_weight: number): boolean =>
  score < QUARANTINE_BELOW &&
  Math.round(decayed_weight * TWO_DECIMALS) / TWO_DECIMALS >= QUARANTINE_EVIDENCE_MIN

/** Rounded down, so that what is below a threshold never reads as if it were on it. */
export const scoreText = (score: number): string =>
  (Math.floor(score * TWO_DECIMALS) / TWO_DECIMALS).toFixed(2)
