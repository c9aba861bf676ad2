import type { Message, Reaction, WorkflowState } from '@guildhall/contracts'
import { type Connection, firstRow, rowsOf } from '@guildhall/db'

/** Serialises what happens to the reactions of one message. False when there is no such message. */
export const lockMessage = async (
  db: Connection,
  { user_id, message_id }: { readonly user_id: number; readonly message_id: number },
): Promise<boolean> => {
  const locked = await firstRow(
    db,
    `select message_id from messages
     where user_id = :user_id and message_id = cast(:message_id as bigint)
     for no key update`,
    { user_id, message_id },
  )
  return locked !== undefined
}

export interface ReactionKey {
  readonly user_id: number
  readonly message_id: number
  readonly member: string
  readonly reaction: Reaction
}

/** True when it was there. */
export const deleteReaction = async (db: Connection, key: ReactionKey): Promise<boolean> => {
  const deleted = await firstRow(
    db,
    `delete from reactions
     where user_id = :user_id and message_id = cast(:message_id as bigint)
       and member = :member and reaction = :reaction
     returning message_id`,
    { ...key },
  )
  return deleted !== undefined
}

/** One that is there already gets the new time. */
export const putReaction = async (db: Connection, key: ReactionKey, at: Date): Promise<void> => {
  await rowsOf(
    db,
    `insert into reactions (message_id, user_id, member, reaction, at)
     values (:message_id, :user_id, :member, :reaction, :at)
     on conflict (message_id, member, reaction) do update set at = excluded.at`,
    { ...key, at },
  )
}

type ReactionRow = Message['reactions'][number]

export const listReactions = (
  db: Connection,
  { user_id, message_id }: { readonly user_id: number; readonly message_id: number },
): Promise<ReactionRow[]> =>
  rowsOf(
    db,
    `select reaction, member as by, at from reactions
     where user_id = :user_id and message_id = cast(:message_id as bigint)
     order by reactions.at, member, reaction`,
    { user_id, message_id },
  )

export const setMessageState = async (
  db: Connection,
  { user_id, message_id }: { readonly user_id: number; readonly message_id: number },
  state: WorkflowState,
): Promise<void> => {
  await rowsOf(
    db,
    `update messages set state = :state
     where user_id = :user_id and message_id = cast(:message_id as bigint)`,
    { user_id, message_id, state },
  )
}
