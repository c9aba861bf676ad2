import { type Connection, firstRow, rowsOf } from '@guildhall/db'
import type { AgentKey } from './agents.ts'

export interface StandingRow extends AgentKey {
  readonly quarantined: boolean
  readonly since: string
  readonly reason: string | null
  readonly version: number
}

const COLUMNS = 'user_id, agent_id, quarantined, since, reason, version'

interface Quarantine {
  readonly user_id: number
  readonly config_hash: string
  readonly reason: string
  readonly at: Date
  /** Whether what brings it about speaks against them: a lifted quarantine needs that. */
  readonly negative: boolean
}

/** Every active agent of the configuration that may be; those that were not before. */
export const quarantineAgents = (db: Connection, quarantine: Quarantine): Promise<StandingRow[]> =>
  rowsOf(
    db,
    `insert into standing as s (user_id, agent_id, quarantined, since, reason, version)
     select user_id, agent_id, true, cast(:at as timestamptz), cast(:reason as text), 1
     from agents
     where user_id = :user_id and config_hash = :config_hash and status = 'active'
     on conflict (user_id, agent_id) do update set
       quarantined = true, since = excluded.since, reason = excluded.reason,
       version = s.version + 1
     where not s.quarantined and (s.lifted_at is null or cast(:negative as boolean))
     returning ${COLUMNS}`,
    { ...quarantine },
  )

/** Undefined when there was nothing to lift. */
export const liftQuarantine = (
  db: Connection,
  lift: AgentKey & { readonly at: Date },
): Promise<StandingRow | undefined> =>
  firstRow(
    db,
    `update standing set quarantined = false, since = :at, reason = null, lifted_at = :at,
       version = version + 1
     where user_id = :user_id and agent_id = :agent_id and quarantined
     returning ${COLUMNS}`,
    { ...lift },
  )

export const standingsAfter = (
  db: Connection,
  after: AgentKey,
  limit: number,
): Promise<StandingRow[]> =>
  rowsOf(
    db,
    `select ${COLUMNS} from standing
     where (user_id, agent_id) > (:user_id, :agent_id)
     order by user_id, agent_id limit :limit`,
    { ...after, limit },
  )

export const agentNames = (
  db: Connection,
  { user_id, agent_ids }: { readonly user_id: number; readonly agent_ids: readonly number[] },
): Promise<{ agent_id: number; name: string }[]> =>
  rowsOf(
    db,
    `select agent_id, name from agents
     where user_id = :user_id
       and agent_id in (select cast(jsonb_array_elements_text(cast(:ids as jsonb)) as bigint))
     order by agent_id`,
    { user_id, ids: JSON.stringify(agent_ids) },
  )
