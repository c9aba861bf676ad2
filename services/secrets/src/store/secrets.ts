import type { SecretScope } from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import { type Bindings, type Connection, firstRow, rowsOf } from '@guildhall/db'
import type { Reach } from '../access.ts'
import type { SealedSecret, SecretContext } from '../envelope.ts'

/** Secrets and their versions. Each statement names the owner. */

export interface Place {
  readonly user_id: number
  readonly scope_type: SecretScope
  readonly scope_id: number
  readonly name: string
}

export interface SecretRow extends Place {
  readonly secret_id: number
  readonly version: number
  readonly hosts: readonly string[]
  readonly created_at: string
  readonly revoked_at: string | null
  readonly last_used_at: string | null
  readonly revoke_key_hash: string | null
}

const SHOWN = `secret_id, user_id, scope_type, scope_id, name, version, hosts, created_at,
  revoked_at, last_used_at, revoke_key_hash`

const AT_PLACE = `user_id = :user_id and scope_type = :scope_type and scope_id = :scope_id
  and name = :name`

const placeBindings = ({ user_id, scope_type, scope_id, name }: Place) => ({
  user_id,
  scope_type,
  scope_id,
  name,
})

/** Of two changes in one scope the second sees what the first did, its ceiling included. */
export const lockScope = async (trx: Trx, { user_id, scope_type, scope_id }: Place) => {
  const scope = `secrets:${user_id}:${scope_type}:${scope_id}`
  await rowsOf(trx, 'select pg_advisory_xact_lock(hashtextextended(:scope, 0))', { scope })
}

export const findBySetKey = (
  db: Connection,
  user_id: number,
  key_hash: string,
): Promise<SecretRow | undefined> =>
  firstRow(
    db,
    `select ${SHOWN} from secrets where user_id = :user_id and set_key_hash = :key_hash`,
    { user_id, key_hash },
  )

/** The newest version, active or revoked. */
export const latestAt = (db: Connection, place: Place): Promise<SecretRow | undefined> =>
  firstRow(
    db,
    `select ${SHOWN} from secrets where ${AT_PLACE} order by version desc limit 1`,
    placeBindings(place),
  )

export const countActive = async (
  db: Connection,
  { user_id, scope_type, scope_id }: Place,
): Promise<number> => {
  const row = await firstRow<{ used: number }>(
    db,
    `select count(*) as used from secrets where user_id = :user_id
     and scope_type = :scope_type and scope_id = :scope_id and revoked_at is null`,
    { user_id, scope_type, scope_id },
  )
  return row?.used ?? 0
}

/** Ends the active version and destroys what was sealed. Its id, if there was one. */
export const retireAt = async (
  trx: Trx,
  place: Place,
  { now, key_hash }: { readonly now: Date; readonly key_hash: string | null },
): Promise<number | undefined> => {
  const row = await firstRow<{ secret_id: number }>(
    trx,
    `update secrets set revoked_at = :now, revoke_key_hash = :key_hash,
       master_key_id = null, wrapped_key = null, sealed = null
     where ${AT_PLACE} and revoked_at is null returning secret_id`,
    { ...placeBindings(place), now, key_hash },
  )
  return row?.secret_id
}

interface NewSecret {
  readonly hosts: readonly string[]
  readonly now: Date
  readonly key_hash: string | null
}

export const insertSecret = async (
  trx: Trx,
  context: SecretContext,
  { master_key_id, wrapped_key, sealed }: SealedSecret,
  { hosts, now, key_hash }: NewSecret,
): Promise<SecretRow> => {
  const row = await firstRow<SecretRow>(
    trx,
    `insert into secrets (user_id, scope_type, scope_id, name, version, hosts, master_key_id,
       wrapped_key, sealed, created_at, set_key_hash)
     values (:user_id, :scope_type, :scope_id, :name, :version, :hosts, :master_key_id,
       :wrapped_key, :sealed, :now, :key_hash) returning ${SHOWN}`,
    {
      ...placeBindings(context),
      version: context.version,
      hosts: JSON.stringify(hosts),
      master_key_id,
      wrapped_key,
      sealed,
      now,
      key_hash,
    },
  )
  if (row === undefined) throw new Error('an insert returned nothing')
  return row
}

export const listActive = (
  db: Connection,
  user_id: number,
  scope_type: SecretScope,
  scope_id: number,
): Promise<SecretRow[]> =>
  rowsOf(
    db,
    `select ${SHOWN} from secrets where user_id = :user_id and scope_type = :scope_type
       and scope_id = :scope_id and revoked_at is null order by name`,
    { user_id, scope_type, scope_id },
  )

/** A null never equals anything, so a scope that the caller has not matches no row. */
const WITHIN_REACH = `user_id = :user_id and revoked_at is null and (
    (scope_type = 'task' and scope_id = :task_id)
    or (scope_type = 'agent' and scope_id = :agent_id)
    or (scope_type = 'user' and scope_id = :user_id))`

const NEAREST_FIRST = `case scope_type when 'task' then 0 when 'agent' then 1 else 2 end`

const reachBindings = ({ user_id, agent_id, task_id }: Reach): Bindings => ({
  user_id,
  agent_id,
  task_id,
})

/** Of each name the one that is used: task before agent before user. */
export const listWithinReach = (
  db: Connection,
  reach: Reach,
): Promise<Pick<SecretRow, 'name' | 'scope_type'>[]> =>
  rowsOf(
    db,
    `select distinct on (name) name, scope_type from secrets where ${WITHIN_REACH}
     order by name, ${NEAREST_FIRST}`,
    reachBindings(reach),
  )

export const findWithinReach = (
  db: Connection,
  reach: Reach,
  name: string,
): Promise<SecretRow | undefined> =>
  firstRow(
    db,
    `select ${SHOWN} from secrets where ${WITHIN_REACH} and name = :name
     order by ${NEAREST_FIRST} limit 1`,
    { ...reachBindings(reach), name },
  )

interface UsedSecret extends SealedSecret, SecretContext {
  readonly hosts: readonly string[]
}

/** Takes it out for use, which is noted; nothing when it was revoked meanwhile. */
export const useSecret = (
  db: Connection,
  { user_id, secret_id }: Pick<SecretRow, 'user_id' | 'secret_id'>,
  now: Date,
): Promise<UsedSecret | undefined> =>
  firstRow(
    db,
    `update secrets set last_used_at = greatest(last_used_at, :now)
     where secret_id = :secret_id and user_id = :user_id and revoked_at is null
     returning user_id, scope_type, scope_id, name, version, hosts, master_key_id, wrapped_key,
       sealed`,
    { user_id, secret_id, now },
  )
