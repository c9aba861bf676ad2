import type { AgentRecord } from '@guildhall/contracts'
import { type Connection, firstRow, rowsOf } from '@guildhall/db'

export interface KnownAgent {
  readonly agent_id: number
  readonly name: string
  readonly config_hash: string
  readonly quarantined: boolean
}

export interface AgentKey {
  readonly user_id: number
  readonly agent_id: number
}

export const findAgent = (db: Connection, key: AgentKey): Promise<KnownAgent | undefined> =>
  firstRow(
    db,
    `select agents.agent_id, name, config_hash, coalesce(quarantined, false) as quarantined
     from agents left join standing using (user_id, agent_id)
     where agents.user_id = :user_id and agents.agent_id = :agent_id`,
    { ...key },
  )

/** Writes those that are new or newer than what is here; the number of them. */
export const upsertAgents = async (
  db: Connection,
  records: readonly AgentRecord[],
): Promise<number> => {
  const rows = records.map((record) => ({
    user_id: record.user_id,
    agent_id: record.agent_id,
    name: record.name,
    config_hash: record.config_hash,
    spawned: record.parent_agent_id !== null,
    status: record.status,
    version: record.version,
  }))
  const written = await rowsOf(
    db,
    `insert into agents (user_id, agent_id, name, config_hash, spawned, status, version)
     select user_id, agent_id, name, config_hash, spawned, status, version
     from jsonb_to_recordset(cast(:rows as jsonb)) as given (user_id bigint, agent_id bigint,
       name text, config_hash text, spawned boolean, status text, version integer)
     on conflict (user_id, agent_id) do update set
       name = excluded.name, config_hash = excluded.config_hash, spawned = excluded.spawned,
       status = excluded.status, version = excluded.version
     where agents.version < excluded.version
     returning agent_id`,
    { rows: JSON.stringify(rows) },
  )
  return written.length
}
