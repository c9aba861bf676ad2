import { type Connection, firstRow } from './rows.ts'

export interface AgentRow {
  readonly agent_id: number
  readonly name: string
}

export const findAgent = (
  db: Connection,
  key: { readonly user_id: number; readonly agent_id: number },
): Promise<AgentRow | undefined> =>
  firstRow(
    db,
    `select agent_id, name from agents
     where user_id = :user_id and agent_id = cast(:agent_id as bigint)`,
    { ...key },
  )

/** The user's agent of this name, made when there is none yet. */
export const ensureAgent = async (
  db: Connection,
  agent: { readonly user_id: number; readonly name: string; readonly created_at: Date },
): Promise<AgentRow> => {
  // Setting the name to itself makes a row that was there already come back, in one statement.
  const row = await firstRow<AgentRow>(
    db,
    `insert into agents (user_id, name, created_at) values (:user_id, :name, :created_at)
     on conflict (user_id, name) do update set name = excluded.name
     returning agent_id, name`,
    { ...agent },
  )
  if (row === undefined) throw new Error('an upsert returned no row')
  return row
}
