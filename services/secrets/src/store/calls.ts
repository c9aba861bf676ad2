import { type Connection, firstRow, rowsOf } from '@guildhall/db'

/** Calls with secrets that carry an idempotency key. */

export interface CallKey {
  readonly user_id: number
  readonly caller: string
  readonly key_hash: string
}

interface KnownCall {
  readonly input_hash: string
  readonly state: 'started' | 'finished'
  readonly answer: string | null
}

const keyBindings = ({ user_id, caller, key_hash }: CallKey) => ({ user_id, caller, key_hash })

const BY_KEY = 'user_id = :user_id and caller = :caller and key_hash = :key_hash'

/** True for the first call with this key, or when the earlier one is old enough to be forgotten. */
export const startCall = async (
  db: Connection,
  key: CallKey,
  {
    input_hash,
    now,
    forgotten_before,
  }: { readonly input_hash: string; readonly now: Date; readonly forgotten_before: Date },
): Promise<boolean> => {
  const row = await firstRow(
    db,
    `insert into calls as known (user_id, caller, key_hash, input_hash, state, started_at)
     values (:user_id, :caller, :key_hash, :input_hash, 'started', :now)
     on conflict (user_id, caller, key_hash) do update set input_hash = excluded.input_hash,
       state = 'started', answer = null, started_at = excluded.started_at
     where known.started_at <= :forgotten_before returning key_hash`,
    { ...keyBindings(key), input_hash, now, forgotten_before },
  )
  return row !== undefined
}

export const findCall = (db: Connection, key: CallKey): Promise<KnownCall | undefined> =>
  firstRow(db, `select input_hash, state, answer from calls where ${BY_KEY}`, keyBindings(key))

export const finishCall = async (db: Connection, key: CallKey, answer: string): Promise<void> => {
  await rowsOf(
    db,
    `update calls set state = 'finished', answer = :answer where ${BY_KEY} and state = 'started'`,
    { ...keyBindings(key), answer },
  )
}

/** For a call that never left: its key is free again. */
export const dropCall = async (db: Connection, key: CallKey): Promise<void> => {
  await rowsOf(db, `delete from calls where ${BY_KEY} and state = 'started'`, keyBindings(key))
}
