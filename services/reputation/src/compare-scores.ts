import { REPUTATION_NEUTRAL } from '@guildhall/contracts'
import type { Db, Trx } from '@guildhall/db'
import { ANY_DOMAIN } from './domain-scores.ts'
import {
  DIFFERENCES_SHOWN_MAX,
  RECOMPUTE_EVIDENCE_PAGE,
  RECOMPUTE_SCORES_PAGE,
  RECOMPUTE_TOLERANCE,
} from './limits.ts'
import { decay, scoreAt } from './score.ts'
import { evidencePage, type ScoreKey, unscoredKeys } from './store/evidence.ts'
import { type StoredScore, scoresAfter } from './store/scores.ts'
import { findSeeds } from './store/seeds.ts'
import { inSnapshot } from './store/snapshot.ts'

/**
 * Computes each score the slow way, from all of its rows and by the formula as it is written down,
 * not by the running sums. Everything is read in one snapshot, so a running system differs in
 * nothing; pages bound what is in memory.
 */
interface Facts {
  readonly prior: number
  readonly seeded: boolean
  readonly evidence_count: number
  readonly as_of_ms: number
  readonly weight_sum: number
  readonly outcome_sum: number
  readonly score: number
}

interface Difference extends ScoreKey {
  readonly field: keyof Facts | 'missing'
  readonly stored: unknown
  readonly computed: unknown
}

export interface Compared {
  readonly scores: number
  readonly evidence: number
  readonly differences: number
  /** The first of them. */
  readonly found: readonly Difference[]
}

/** Decayed to `as_of_ms`, which no row of the ledger may be later than. */
const sumRows = async (trx: Trx, key: ScoreKey, as_of_ms: number) => {
  let after = 0
  let count = 0
  let newest_ms = 0
  let weight = 0
  let outcome = 0
  for (;;) {
    const rows = await evidencePage(trx, { ...key, after, limit: RECOMPUTE_EVIDENCE_PAGE })
    for (const row of rows) {
      const at_ms = Date.parse(row.at)
      const decayed = row.weight * decay(as_of_ms - at_ms)
      weight += decayed
      outcome += decayed * row.outcome
      newest_ms = Math.max(newest_ms, at_ms)
    }
    count += rows.length
    after = rows.at(-1)?.evidence_id ?? after
    if (rows.length < RECOMPUTE_EVIDENCE_PAGE) return { count, newest_ms, weight, outcome }
  }
}

const compute = async (trx: Trx, stored: StoredScore): Promise<Facts> => {
  const { user_id, config_hash, domain, sums } = stored
  const key = { user_id, config_hash, domain }
  const seeds = await findSeeds(trx, { ...key, any_domain: ANY_DOMAIN })
  const own = seeds.find((seed) => seed.domain === domain)
  const general = seeds.find((seed) => seed.domain === ANY_DOMAIN)
  const prior = own?.prior ?? general?.prior ?? REPUTATION_NEUTRAL
  const { count, newest_ms, weight, outcome } = await sumRows(trx, key, sums.as_of_ms)
  return {
    prior,
    seeded: own !== undefined,
    evidence_count: count,
    as_of_ms: newest_ms,
    weight_sum: weight,
    outcome_sum: outcome,
    score: scoreAt(prior, { weight, outcome, as_of_ms: newest_ms }, newest_ms),
  }
}

const storedFacts = ({ prior, seeded, evidence_count, sums, score }: StoredScore): Facts => ({
  prior,
  seeded,
  evidence_count,
  as_of_ms: sums.as_of_ms,
  weight_sum: sums.weight,
  outcome_sum: sums.outcome,
  score,
})

const differs = (stored: number | boolean, computed: number | boolean): boolean =>
  typeof stored === 'number' && typeof computed === 'number'
    ? Math.abs(stored - computed) > RECOMPUTE_TOLERANCE * Math.max(1, Math.abs(computed))
    : stored !== computed

const compareOne = async (trx: Trx, score: StoredScore) => {
  const { user_id, config_hash, domain } = score
  const stored = storedFacts(score)
  const computed = await compute(trx, score)
  const fields = Object.keys(computed) as (keyof Facts)[] // of a literal of that type
  const differences = fields
    .filter((field) => differs(stored[field], computed[field]))
    .map((field): Difference => {
      const [was, is] = [stored[field], computed[field]]
      return { user_id, config_hash, domain, field, stored: was, computed: is }
    })
  return { evidence: computed.evidence_count, differences }
}

export const compareScores = (db: Db): Promise<Compared> =>
  inSnapshot(db, async (trx) => {
    let after: ScoreKey = { user_id: 0, config_hash: '', domain: '' }
    const found: Difference[] = (await unscoredKeys(trx, DIFFERENCES_SHOWN_MAX)).map((key) => ({
      ...key,
      field: 'missing',
      stored: null,
      computed: null,
    }))
    let differences = found.length
    let scores = 0
    let evidence = 0
    for (;;) {
      const page = await scoresAfter(trx, after, RECOMPUTE_SCORES_PAGE)
      for (const score of page) {
        const compared = await compareOne(trx, score)
        evidence += compared.evidence
        differences += compared.differences.length
        found.push(...compared.differences.slice(0, DIFFERENCES_SHOWN_MAX - found.length))
      }
      scores += page.length
      const last = page.at(-1)
      if (last === undefined) return { scores, evidence, differences, found }
      after = last
    }
  })
