import { type Connection, rowsOf } from '@guildhall/db'
import type { Sums } from '../score.ts'
import type { ScoreKey } from './evidence.ts'

/** The score of a configuration in a domain: at the time of its newest row, and what it is made of. */
export interface StoredScore extends ScoreKey {
  readonly prior: number
  readonly seeded: boolean
  readonly sums: Sums
  /** At `sums.as_of_ms`. */
  readonly score: number
  readonly evidence_count: number
}

interface ScoreRow extends ScoreKey {
  readonly prior: number
  readonly seeded: boolean
  readonly weight_sum: number
  readonly outcome_sum: number
  readonly as_of: string
  readonly score: number
  readonly evidence_count: number
}

const COLUMNS = `user_id, config_hash, domain, prior, seeded, weight_sum, outcome_sum, as_of, score,
  evidence_count`

const readScore = ({ weight_sum, outcome_sum, as_of, ...row }: ScoreRow): StoredScore => ({
  ...row,
  sums: { weight: weight_sum, outcome: outcome_sum, as_of_ms: Date.parse(as_of) },
})

interface ConfigScores {
  readonly user_id: number
  readonly config_hash: string
  /** These are there, whatever the limit leaves out. */
  readonly first: string
  readonly also_first: string
  readonly limit: number
}

/** All of a configuration, or the most recent when there are too many. */
export const scoresOf = async (db: Connection, wanted: ConfigScores): Promise<StoredScore[]> => {
  const rows = await rowsOf<ScoreRow>(
    db,
    `select ${COLUMNS} from scores
     where user_id = :user_id and config_hash = :config_hash
     order by (domain in (:first, :also_first)) desc, as_of desc, domain
     limit :limit`,
    { ...wanted },
  )
  return rows.map(readScore)
}

/** Under the owner's lock. */
export const saveScores = async (db: Connection, scores: readonly StoredScore[]): Promise<void> => {
  const rows = scores.map(({ sums, ...score }) => ({
    ...score,
    weight_sum: sums.weight,
    outcome_sum: sums.outcome,
    as_of: new Date(sums.as_of_ms),
  }))
  await rowsOf(
    db,
    `insert into scores (${COLUMNS})
     select ${COLUMNS}
     from jsonb_to_recordset(cast(:rows as jsonb)) as given (user_id bigint, config_hash text,
       domain text, prior double precision, seeded boolean, weight_sum double precision,
       outcome_sum double precision, as_of timestamptz, score double precision,
       evidence_count integer)
     on conflict (user_id, config_hash, domain) do update set
       prior = excluded.prior, seeded = excluded.seeded, weight_sum = excluded.weight_sum,
       outcome_sum = excluded.outcome_sum, as_of = excluded.as_of, score = excluded.score,
       evidence_count = excluded.evidence_count`,
    { rows: JSON.stringify(rows) },
  )
}

export const scoresAfter = async (
  db: Connection,
  after: ScoreKey,
  limit: number,
): Promise<StoredScore[]> => {
  const rows = await rowsOf<ScoreRow>(
    db,
    `select ${COLUMNS} from scores
     where (user_id, config_hash, domain) > (:user_id, :config_hash, :domain)
     order by user_id, config_hash, domain limit :limit`,
    { ...after, limit },
  )
  return rows.map(readScore)
}
