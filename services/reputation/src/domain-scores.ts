import { REPUTATION_NEUTRAL } from '@guildhall/contracts'
import type { Connection } from '@guildhall/db'
import { DOMAINS_MAX } from './limits.ts'
import { NO_EVIDENCE, type Sums, scoreAt } from './score.ts'
import { type StoredScore, scoresOf } from './store/scores.ts'

/**
 * What a configuration starts from in each domain that nothing is known of. Written with its seeds:
 * without it, an unproven child would read 0.5 wherever its parent never worked, more than the 70 %
 * that it inherits. No billing code can have this for its domain.
 */
export const ANY_DOMAIN = '*'

interface DomainScores {
  /** In order of their names. */
  readonly scores: readonly StoredScore[]
  /** As it is stored, or as it would be with nothing known. */
  of(domain: string): StoredScore
}

interface Wanted {
  readonly user_id: number
  readonly config_hash: string
  /** This domain is read, however many others there are. */
  readonly domain: string
}

export const readScores = async (db: Connection, wanted: Wanted): Promise<DomainScores> => {
  const { user_id, config_hash, domain } = wanted
  const stored = await scoresOf(db, {
    user_id,
    config_hash,
    first: domain,
    also_first: ANY_DOMAIN,
    limit: DOMAINS_MAX,
  })
  const by_domain = new Map(stored.map((score) => [score.domain, score]))
  const prior = by_domain.get(ANY_DOMAIN)?.prior ?? REPUTATION_NEUTRAL
  const unknown = (name: string): StoredScore => ({
    user_id,
    config_hash,
    domain: name,
    prior,
    seeded: false,
    sums: NO_EVIDENCE,
    score: prior,
    evidence_count: 0,
  })
  return {
    scores: stored
      .filter((score) => score.domain !== ANY_DOMAIN)
      .sort((a, b) => (a.domain < b.domain ? -1 : 1)),
    of: (name) => by_domain.get(name) ?? unknown(name),
  }
}

/** The same with another prior or other sums. */
export const rescored = (
  before: StoredScore,
  change: { readonly prior?: number; readonly sums?: Sums },
): StoredScore => {
  const { prior, sums } = { prior: before.prior, sums: before.sums, ...change }
  return { ...before, prior, sums, score: scoreAt(prior, sums, sums.as_of_ms) }
}
