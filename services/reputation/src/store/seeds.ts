import { type Connection, firstRow, rowsOf } from '@guildhall/db'

interface Config {
  readonly user_id: number
  readonly config_hash: string
}

/** True when this owner never had an agent of this configuration. */
export const meetConfig = async (
  db: Connection,
  config: Config & { readonly at: Date },
): Promise<boolean> => {
  const met = await firstRow(
    db,
    `insert into configs (user_id, config_hash, first_met_at)
     values (:user_id, :config_hash, :at)
     on conflict (user_id, config_hash) do nothing
     returning config_hash`,
    { ...config },
  )
  return met !== undefined
}

export interface SeedRow extends Config {
  readonly domain: string
  readonly prior: number
  readonly from_config_hash: string
  readonly at: Date
}

export const insertSeeds = async (db: Connection, seeds: readonly SeedRow[]): Promise<void> => {
  await rowsOf(
    db,
    `insert into seeds (user_id, config_hash, domain, prior, from_config_hash, at)
     select user_id, config_hash, domain, prior, from_config_hash, at
     from jsonb_to_recordset(cast(:rows as jsonb)) as given (user_id bigint, config_hash text,
       domain text, prior double precision, from_config_hash text, at timestamptz)
     on conflict (user_id, config_hash, domain) do nothing`,
    { rows: JSON.stringify(seeds) },
  )
}

/** Those of the domain and of all others. */
export const findSeeds = (
  db: Connection,
  key: Config & { readonly domain: string; readonly any_domain: string },
): Promise<{ domain: string; prior: number }[]> =>
  rowsOf(
    db,
    `select domain, prior from seeds
     where user_id = :user_id and config_hash = :config_hash
       and domain in (:domain, :any_domain)`,
    { ...key },
  )
