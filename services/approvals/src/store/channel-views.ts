import type { Channel } from '@guildhall/contracts'
import { type Connection, firstRow, rowsOf } from '@guildhall/db'
import { UNREAD_COUNTED_MAX } from '../limits.ts'

/** A channel as one of those who may see it sees it: a member, or anybody of its owner's if public. */
const VIEW = `
  select channels.channel_id, name, type, private, system, topic, goal_id,
    coalesce(role, 'member') as role,
    (select count(*) from (
       select from messages
       where messages.channel_id = channels.channel_id
         and message_id > coalesce(last_read_message_id, 0) and author <> :member
       limit ${UNREAD_COUNTED_MAX}) as unseen) as unread,
    channels.created_at
  from channels
  left join channel_members on channel_members.channel_id = channels.channel_id
    and channel_members.member = :member
  where channels.user_id = :user_id and (channel_members.member is not null or not private)`

export interface Viewer {
  readonly user_id: number
  /** `agent:<id>` or `human:<id>`. */
  readonly member: string
}

export const viewChannel = (
  db: Connection,
  viewer: Viewer,
  key: { readonly channel_id: number } | { readonly name: string },
): Promise<Channel | undefined> =>
  firstRow(
    db,
    `${VIEW} and ${
      'name' in key ? 'name = :name' : 'channels.channel_id = cast(:channel_id as bigint)'
    }`,
    { ...viewer, ...key },
  )

/** By id, highest first, beginning below `before` when it is given. */
export const viewChannels = (
  db: Connection,
  viewer: Viewer,
  { before, limit }: { readonly before: number | null; readonly limit: number },
): Promise<Channel[]> =>
  rowsOf(
    db,
    `${VIEW} ${before === null ? '' : 'and channels.channel_id < cast(:before as bigint)'}
     order by channels.channel_id desc limit :limit`,
    { ...viewer, before, limit },
  )

/** Those that the owner made, for the ceiling. */
export const countOwnChannels = async (db: Connection, user_id: number): Promise<number> => {
  const row = await firstRow<{ own: number }>(
    db,
    'select count(*) as own from channels where user_id = :user_id and not system',
    { user_id },
  )
  return row?.own ?? 0
}

/** Only ever forward. False when the viewer is no member, or the message is not in the channel. */
export const moveRead = async (
  db: Connection,
  { user_id, member }: Viewer,
  { channel_id, message_id }: { readonly channel_id: number; readonly message_id: number },
): Promise<boolean> => {
  const moved = await firstRow(
    db,
    `update channel_members
     set last_read_message_id = greatest(last_read_message_id, messages.message_id)
     from messages
     where channel_members.user_id = :user_id and channel_members.member = :member
       and channel_members.channel_id = cast(:channel_id as bigint)
       and messages.channel_id = channel_members.channel_id
       and messages.message_id = cast(:message_id as bigint)
     returning channel_members.channel_id`,
    { user_id, member, channel_id, message_id },
  )
  return moved !== undefined
}
