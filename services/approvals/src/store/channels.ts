import type { Channel } from '@guildhall/contracts'
import { type Connection, firstRow, rowsOf } from '@guildhall/db'

export interface ChannelKey {
  readonly user_id: number
  readonly channel_id: number
}

export interface NewChannel {
  readonly user_id: number
  /** Absent: the next odd one. */
  readonly channel_id?: number
  readonly name: string
  readonly type: Channel['type']
  readonly private: boolean
  readonly system: boolean
  readonly topic: string
  readonly goal_id?: number | null
  /** A goal's coordinator, or the other side of a direct channel. */
  readonly agent_id?: number | null
  readonly created_at: Date
}

/** Undefined when the owner has a channel of this name, or the id is taken. */
export const insertChannel = async (
  db: Connection,
  { channel_id, goal_id = null, agent_id = null, ...channel }: NewChannel,
): Promise<number | undefined> => {
  const values = {
    ...channel,
    goal_id,
    agent_id,
    ...(channel_id === undefined ? {} : { channel_id }),
  }
  const columns = Object.keys(values)
  const row = await firstRow<{ channel_id: number }>(
    db,
    `insert into channels (${columns.join(', ')})
     values (${columns.map((column) => `:${column}`).join(', ')})
     on conflict do nothing
     returning channel_id`,
    values,
  )
  return row?.channel_id
}

export const findChannelId = async (
  db: Connection,
  { user_id, name }: { readonly user_id: number; readonly name: string },
): Promise<number | undefined> => {
  const row = await firstRow<{ channel_id: number }>(
    db,
    'select channel_id from channels where user_id = :user_id and name = :name',
    { user_id, name },
  )
  return row?.channel_id
}

export interface ChannelFacts extends ChannelKey {
  readonly name: string
  readonly type: Channel['type']
  readonly private: boolean
  readonly system: boolean
  readonly agent_id: number | null
}

export const findChannel = (db: Connection, key: ChannelKey): Promise<ChannelFacts | undefined> =>
  firstRow(
    db,
    `select user_id, channel_id, name, type, private, system, agent_id from channels
     where user_id = :user_id and channel_id = cast(:channel_id as bigint)`,
    { ...key },
  )

interface NewMember extends ChannelKey {
  /** Absent: the owner. */
  readonly agent_id?: number | null
  readonly role: Channel['role']
  readonly joined_at: Date
}

/** Whoever is a member already stays as they are. */
export const addMember = async (
  db: Connection,
  { agent_id = null, ...member }: NewMember,
): Promise<boolean> => {
  const row = await firstRow(
    db,
    `insert into channel_members (channel_id, user_id, member, agent_id, role, joined_at)
     values (:channel_id, :user_id, :member, :agent_id, :role, :joined_at)
     on conflict (channel_id, member) do nothing
     returning member`,
    {
      ...member,
      agent_id,
      member: agent_id === null ? `human:${member.user_id}` : `agent:${agent_id}`,
    },
  )
  return row !== undefined
}

/** True when the agent was one. */
export const deleteMember = async (
  db: Connection,
  { user_id, channel_id, agent_id }: ChannelKey & { readonly agent_id: number },
): Promise<boolean> => {
  const rows = await rowsOf(
    db,
    `delete from channel_members
     where user_id = :user_id and channel_id = cast(:channel_id as bigint)
       and agent_id = cast(:agent_id as bigint)
     returning member`,
    { user_id, channel_id, agent_id },
  )
  return rows.length > 0
}
