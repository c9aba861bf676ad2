import type { User } from '@guildhall/contracts'
import { type Connection, firstRow } from '@guildhall/db'

type UserWithPassword = User & { readonly password_hash: string | null }

export const findUser = (db: Connection, user_id: number): Promise<User | undefined> =>
  firstRow(
    db,
    'select user_id, username, created_at from users where user_id = cast(:user_id as bigint)',
    { user_id },
  )

export const findUserWithPassword = (
  db: Connection,
  who: { readonly username: string } | { readonly user_id: number },
): Promise<UserWithPassword | undefined> =>
  firstRow(
    db,
    `select user_id, username, created_at, password_hash from users
     where ${'username' in who ? 'username = :username' : 'user_id = cast(:user_id as bigint)'}`,
    { ...who },
  )

/** The new user, or undefined when the name is taken. */
export const insertUser = (
  db: Connection,
  user: { readonly username: string; readonly created_at: Date },
): Promise<User | undefined> =>
  firstRow(
    db,
    `insert into users (username, created_at) values (:username, :created_at)
     on conflict (username) do nothing
     returning user_id, username, created_at`,
    user,
  )

/** Serialises what counts against a user's ceilings. False when there is no such user. */
export const lockUser = async (db: Connection, user_id: number): Promise<boolean> => {
  const locked = await firstRow(
    db,
    'select user_id from users where user_id = cast(:user_id as bigint) for no key update',
    { user_id },
  )
  return locked !== undefined
}

interface PasswordChange {
  readonly user_id: number
  readonly from: string | null
  readonly to: string
}

/** False when the password is not, or no longer, the one that it shall change from. */
export const changePassword = async (
  db: Connection,
  { user_id, from, to }: PasswordChange,
): Promise<boolean> => {
  const changed = await firstRow(
    db,
    `update users set password_hash = :to
     where user_id = cast(:user_id as bigint)
       and password_hash is not distinct from cast(:from as text)
     returning user_id`,
    { user_id, from, to },
  )
  return changed !== undefined
}
