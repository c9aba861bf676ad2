import type { Handler } from '@guildhall/bus'
import { ServiceError, setPassword } from '@guildhall/contracts'
import { transaction } from '@guildhall/db'
import { audit, callOf } from '../call.ts'
import type { Deps } from '../deps.ts'
import { changePassword, findUserWithPassword } from '../store/users.ts'
import { admitAttempt, giveBackAttempt, passwordChangeBucket } from '../throttle.ts'

const wrongPassword = (): ServiceError =>
  new ServiceError('forbidden', 'current_password: this is not your password', {
    what_to_do: 'Give the password by which you log in now.',
  })

/**
 * The first password needs no old one: whoever is logged in came by a link that only the operator can
 * make. Any later one does, so that a session left open is not enough to take an account over.
 */

/** Whether to change it. False when it already is what it shall be: a repeat whose answer was lost. */
const mayChange = async (
  { passwords }: Deps,
  stored: string | null,
  { password, current_password }: { password: string; current_password?: string | undefined },
): Promise<boolean> => {
  if (stored === null) return true
  if (current_password !== undefined && (await passwords.verify(current_password, stored))) {
    return true
  }
  if (await passwords.verify(password, stored)) return false
  if (current_password !== undefined) throw wrongPassword()
  throw new ServiceError('invalid_argument', 'current_password: needed, as a password is set')
}

export const handleSetPassword =
  (deps: Deps): Handler<typeof setPassword> =>
  async (ctx, input) => {
    // Without the input: a quick hash of a password must not even be computed.
    const call = callOf(deps, ctx, setPassword, {})
    const { user_id } = call
    const buckets = [passwordChangeBucket(user_id)]
    await admitAttempt(deps, buckets)
    const user = await findUserWithPassword(deps.db, { user_id })
    if (user === undefined) throw new ServiceError('not_found', 'there is no such user')
    if (await mayChange(deps, user.password_hash, input)) {
      const to = await deps.passwords.hash(input.password)
      await transaction(deps.db, async (trx) => {
        const from = user.password_hash
        // Changed by another call meanwhile: what was given is not the current one any more.
        if (!(await changePassword(trx, { user_id, from, to }))) throw wrongPassword()
        await audit(trx, call, 'password.changed', `user:${user_id}`)
      })
    }
    await giveBackAttempt(deps, buckets)
    return { changed: true }
  }
