import type { Message, MessageKind, WorkflowState } from '@guildhall/contracts'
import { type Connection, firstRow, rowsOf } from '@guildhall/db'
import type { ChannelKey } from './channels.ts'

/**
 * Messages of one channel get their ids one after the other, under the lock of its row, and become
 * visible in that order. So whoever has read up to a message has missed nothing before it.
 */
const LOCKED_CHANNEL = `
  with channel as (
    select user_id, channel_id from channels
    where user_id = :user_id and channel_id = cast(:channel_id as bigint)
    for no key update)`

const NEXT_ID = "nextval(pg_get_serial_sequence('messages', 'message_id'))"

/** The id of a message yet to be inserted in this transaction; undefined without such a channel. */
export const reserveMessageId = async (
  db: Connection,
  { user_id, channel_id }: ChannelKey,
): Promise<number | undefined> => {
  const row = await firstRow<{ message_id: number }>(
    db,
    `${LOCKED_CHANNEL} select ${NEXT_ID} as message_id from channel`,
    { user_id, channel_id },
  )
  return row?.message_id
}

interface NewMessage extends ChannelKey {
  /** Reserved before, or absent. */
  readonly message_id?: number | null
  /** `agent:<id>`, `human:<id>` or `system`. */
  readonly from: string
  readonly agent_id?: number | null
  readonly kind: MessageKind
  readonly body: string
  readonly metadata: Readonly<Record<string, unknown>>
  readonly approval_id?: number | null
  readonly reply_to?: number | null
  readonly at: Date
}

/** Undefined when the owner has no such channel. */
export const insertMessage = async (
  db: Connection,
  {
    message_id = null,
    agent_id = null,
    approval_id = null,
    reply_to = null,
    metadata,
    ...message
  }: NewMessage,
): Promise<number | undefined> => {
  const row = await firstRow<{ message_id: number }>(
    db,
    `${LOCKED_CHANNEL}
     insert into messages (message_id, channel_id, user_id, author, agent_id, kind, body,
       metadata, approval_id, reply_to, created_at)
     select coalesce(cast(:message_id as bigint), ${NEXT_ID}), channel_id, user_id, :from,
       cast(:agent_id as integer), :kind, :body, cast(:metadata as jsonb),
       cast(:approval_id as bigint), cast(:reply_to as bigint), :at
     from channel
     returning message_id`,
    {
      ...message,
      message_id,
      agent_id,
      approval_id,
      reply_to,
      metadata: JSON.stringify(metadata),
    },
  )
  return row?.message_id
}

/** RFC 3339, as times of columns come; inside JSON they would come in PostgreSQL's own form. */
const RFC_3339 = `'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'`

const FIELDS = `
  messages.message_id, messages.channel_id, messages.author as "from",
  coalesce(authors.name, users.username, messages.author) as from_name,
  messages.agent_id, kind, body, metadata, approval_id, reply_to,
  coalesce((
    select json_agg(json_build_object('reaction', reaction, 'by', member,
      'at', to_char(at at time zone 'UTC', ${RFC_3339})) order by at, member, reaction)
    from reactions where reactions.message_id = messages.message_id), '[]') as reactions,
  state, messages.created_at`

const WITH_NAMES = `
  messages
  left join users on messages.author = 'human:' || users.user_id
    and users.user_id = messages.user_id
  left join agents as authors on authors.user_id = messages.user_id
    and authors.agent_id = case when messages.author like 'agent:%'
      then cast(substr(messages.author, 7) as integer) end`

export const findMessage = (
  db: Connection,
  { user_id, message_id }: { readonly user_id: number; readonly message_id: number },
): Promise<Message | undefined> =>
  firstRow(
    db,
    `select ${FIELDS} from ${WITH_NAMES}
     where messages.user_id = :user_id and messages.message_id = cast(:message_id as bigint)`,
    { user_id, message_id },
  )

interface MessagePage extends ChannelKey {
  readonly state: WorkflowState | null
  readonly before: number | null
  readonly limit: number
}

/** Newest first, beginning below `before` when it is given. */
export const listMessagesBefore = (
  db: Connection,
  { user_id, channel_id, state, before, limit }: MessagePage,
): Promise<Message[]> =>
  rowsOf(
    db,
    `select ${FIELDS} from ${WITH_NAMES}
     where messages.user_id = :user_id and messages.channel_id = cast(:channel_id as bigint)
       ${state === null ? '' : 'and state = :state'}
       ${before === null ? '' : 'and messages.message_id < cast(:before as bigint)'}
     order by messages.message_id desc limit :limit`,
    { user_id, channel_id, state, before, limit },
  )

export const isInChannel = async (
  db: Connection,
  { user_id, channel_id }: ChannelKey,
  message_id: number,
): Promise<boolean> => {
  const row = await firstRow(
    db,
    `select message_id from messages
     where user_id = :user_id and channel_id = cast(:channel_id as bigint)
       and message_id = cast(:message_id as bigint)`,
    { user_id, channel_id, message_id },
  )
  return row !== undefined
}
