import { type Connection, rowsOf } from '@guildhall/db'

interface Attempt {
  /** In a fixed order of kinds, so that two callers lock them in the same order. */
  readonly buckets: readonly string[]
  readonly now: Date
  /** A window that began before this is over. */
  readonly window_since: Date
  /** The count stops here; how far beyond the limit it is does not matter. */
  readonly count_max: number
}

interface CountedBucket {
  readonly bucket: string
  readonly attempts: number
  readonly window_started_at: string
}

/** Counts one attempt in each bucket, opening a new window where the old one is over. */
export const countAttempt = (db: Connection, attempt: Attempt): Promise<CountedBucket[]> =>
  rowsOf(
    db,
    `insert into login_attempts as counted (bucket, window_started_at, attempts)
     select bucket, cast(:now as timestamptz), 1
     from unnest(cast(:buckets as text[])) with ordinality as given (bucket, place)
     order by place
     on conflict (bucket) do update set
       attempts = case when counted.window_started_at <= :window_since then 1
         else least(counted.attempts + 1, :count_max) end,
       window_started_at = case when counted.window_started_at <= :window_since
         then excluded.window_started_at else counted.window_started_at end
     returning bucket, attempts, window_started_at`,
    { ...attempt },
  )

/** Gives back the attempt of somebody who turned out to be right. */
export const refundAttempt = async (db: Connection, buckets: readonly string[]): Promise<void> => {
  await rowsOf(
    db,
    `update login_attempts set attempts = attempts - 1
     where bucket = any(:buckets) and attempts > 0`,
    { buckets },
  )
}
