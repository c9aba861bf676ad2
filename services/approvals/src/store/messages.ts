import type { MessageKind } from '@guildhall/contracts'
import type { ChannelKey } from './channels.ts'
import { type Connection, firstRow } from './rows.ts'

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

export interface NewMessage extends ChannelKey {
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
