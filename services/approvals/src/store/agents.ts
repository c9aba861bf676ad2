import { Agent, type AgentRecord, AgentRow } from '@guildhall/contracts'
import { type Bindings, type Connection, firstRow, rowsOf } from '@guildhall/db'

/** Rows are Agents as the contract has them, with what only this service needs beside it. */
export interface StoredAgent extends Agent {
  readonly user_id: number
  readonly parent_config_hash: string | null
  readonly parent_agent_name: string | null
}

const OWN = [...Object.keys(Agent.shape), 'user_id', 'parent_config_hash']

const FIELDS = `${OWN.map((field) => `agent.${field}`).join(', ')}, (
  select parent.name from agents parent
  where parent.user_id = agent.user_id and parent.agent_id = agent.parent_agent_id
) as parent_agent_name`

/** The agent that a writing statement left behind. */
const written = (statement: string): string =>
  `with agent as (${statement} returning *) select ${FIELDS} from agent`

export interface AgentKey {
  readonly user_id: number
  readonly agent_id: number
}

export type NewAgent = Omit<
  StoredAgent,
  'created_at' | 'parent_agent_name' | 'quarantined_at' | 'quarantine_reason' | 'status' | 'version'
> & { readonly created_at: Date }

const bindingsOf = ({ mcp_servers, ...fields }: Partial<Omit<NewAgent, 'user_id'>>): Bindings => ({
  ...fields,
  ...(mcp_servers === undefined ? {} : { mcp_servers: JSON.stringify(mcp_servers) }),
})

export const reserveAgentId = async (db: Connection): Promise<number> => {
  const row = await firstRow<{ agent_id: number }>(
    db,
    "select nextval(pg_get_serial_sequence('agents', 'agent_id')) as agent_id",
    {},
  )
  if (row === undefined) throw new Error('a sequence returned no row')
  return row.agent_id
}

/** Undefined when an active agent of the owner has this name, or this template. */
export const insertAgent = (db: Connection, agent: NewAgent): Promise<StoredAgent | undefined> => {
  const values: Bindings = {
    ...bindingsOf(agent),
    user_id: agent.user_id,
    status: 'active' satisfies Agent['status'],
    version: 1,
  }
  const columns = Object.keys(values)
  return firstRow(
    db,
    written(
      `insert into agents (${columns.join(', ')}) overriding system value
       values (${columns.map((column) => `:${column}`).join(', ')})
       on conflict do nothing`,
    ),
    values,
  )
}

export const findAgent = (db: Connection, key: AgentKey): Promise<StoredAgent | undefined> =>
  firstRow(
    db,
    `select ${FIELDS} from agents agent
     where user_id = :user_id and agent_id = cast(:agent_id as bigint)`,
    { ...key },
  )

/** The same, and nobody else changes it, or counts what it has pending, before this is over. */
export const lockAgent = (db: Connection, key: AgentKey): Promise<StoredAgent | undefined> =>
  firstRow(
    db,
    `select ${FIELDS} from agents agent
     where user_id = :user_id and agent_id = cast(:agent_id as bigint)
     for no key update of agent`,
    { ...key },
  )

export const findActiveAgentNamed = (
  db: Connection,
  { user_id, name }: { readonly user_id: number; readonly name: string },
): Promise<StoredAgent | undefined> =>
  firstRow(
    db,
    `select ${FIELDS} from agents agent
     where user_id = :user_id and name = :name and status = 'active'`,
    { user_id, name },
  )

/** Which of these are active agents of the owner. */
export const activeAgentIds = async (
  db: Connection,
  { user_id, agent_ids }: { readonly user_id: number; readonly agent_ids: readonly number[] },
): Promise<readonly number[]> => {
  const rows = await rowsOf<{ agent_id: number }>(
    db,
    `select agent_id from agents
     where user_id = :user_id and status = 'active'
       and agent_id = any(cast(:agent_ids as bigint[]))`,
    { user_id, agent_ids: agent_ids.map(String) },
  )
  return rows.map(({ agent_id }) => agent_id)
}

export const countActiveAgents = async (db: Connection, user_id: number): Promise<number> => {
  const row = await firstRow<{ active: number }>(
    db,
    `select count(*) as active from agents where user_id = :user_id and status = 'active'`,
    { user_id },
  )
  return row?.active ?? 0
}

export type AgentChanges = Partial<
  Omit<NewAgent, 'user_id' | 'agent_id' | 'name' | 'created_at' | 'parent_agent_id'>
>

/** Undefined when there is no such agent, or it is inactive. */
export const updateAgent = (
  db: Connection,
  key: AgentKey,
  changes: AgentChanges,
): Promise<StoredAgent | undefined> => {
  const values = bindingsOf(changes)
  const assignments = Object.keys(values).map((column) => `${column} = :${column}`)
  return firstRow(
    db,
    written(
      `update agents set ${[...assignments, 'version = version + 1'].join(', ')}
       where user_id = :user_id and agent_id = cast(:agent_id as bigint) and status = 'active'`,
    ),
    { ...values, ...key },
  )
}

/** Undefined when there is no such agent, or it is inactive already. */
export const deactivateActiveAgent = (
  db: Connection,
  key: AgentKey,
): Promise<StoredAgent | undefined> =>
  firstRow(
    db,
    written(
      `update agents set status = 'inactive', version = version + 1
       where user_id = :user_id and agent_id = cast(:agent_id as bigint) and status = 'active'`,
    ),
    { ...key },
  )

interface Standing extends AgentKey {
  /** Null: in good standing. */
  readonly quarantined_at: Date | null
  readonly quarantine_reason: string | null
  /** When reputation decided it; an older word than the last one changes nothing. */
  readonly at: Date
}

export const updateStanding = (
  db: Connection,
  standing: Standing,
): Promise<StoredAgent | undefined> =>
  firstRow(
    db,
    written(
      `update agents set quarantined_at = :quarantined_at, quarantine_reason = :quarantine_reason,
         standing_at = :at, version = version + 1
       where user_id = :user_id and agent_id = cast(:agent_id as bigint)
         and (standing_at is null or standing_at < :at)`,
    ),
    { ...standing },
  )

interface AgentPage {
  readonly user_id: number
  readonly status: Agent['status'] | null
  readonly before: number | null
  readonly limit: number
}

const ROW_FIELDS = Object.keys(AgentRow.shape).join(', ')

/** Newest first, without prompts, beginning after `before` when it is given. */
export const listAgentsBefore = (db: Connection, page: AgentPage): Promise<AgentRow[]> =>
  rowsOf(
    db,
    `select ${ROW_FIELDS} from agents
     where user_id = :user_id
       ${page.before === null ? '' : 'and agent_id < cast(:before as bigint)'}
       ${page.status === null ? '' : 'and status = :status'}
     order by agent_id desc limit :limit`,
    { ...page },
  )

/** A page over all users, for the reconciler alone. */
export const agentsAfter = (
  db: Connection,
  agent_id: number,
  limit: number,
): Promise<StoredAgent[]> =>
  rowsOf(
    db,
    `select ${FIELDS} from agents agent
     where agent_id > cast(:agent_id as bigint) order by agent_id limit :limit`,
    { agent_id, limit },
  )

export const agentRecord = (agent: StoredAgent): AgentRecord => ({
  v: 1,
  version: agent.version,
  agent_id: agent.agent_id,
  user_id: agent.user_id,
  name: agent.name,
  display_name: agent.display_name,
  status: agent.status,
  autonomy_tier: agent.autonomy_tier,
  tool_scope: agent.tool_scope,
  mcp_servers: agent.mcp_servers,
  config_hash: agent.config_hash,
  spawn_depth: agent.spawn_depth,
  parent_agent_id: agent.parent_agent_id,
  parent_agent_name: agent.parent_agent_name,
  coordinator_template: agent.coordinator_template,
})

/** As callers see it. */
export const shownAgent = ({
  user_id: _,
  parent_config_hash: __,
  parent_agent_name: ___,
  ...agent
}: StoredAgent): Agent => agent
