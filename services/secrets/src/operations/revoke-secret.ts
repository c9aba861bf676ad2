import type { Handler } from '@guildhall/bus'
import { namedError, type revokeSecret, taskItemId, taskKey, workKey } from '@guildhall/contracts'
import { transaction } from '@guildhall/db'
import { checkOwnScope, type Scope } from '../access.ts'
import { announceChange, announceRevokedInUse, publishChanges } from '../announce.ts'
import type { Deps } from '../deps.ts'
import { secretName } from '../secret-text.ts'
import { latestAt, lockScope, retireAt } from '../store/secrets.ts'
import { keyHash, noSuchSecret } from '../store-version.ts'

/** The task at whose work the secret is missed from now on, if somebody is at it. */
const claimedTask = async (
  { tasks, work }: Deps,
  user_id: number,
  { scope_type, scope_id }: Scope,
) => {
  if (scope_type !== 'task') return undefined
  const item = await work.get(workKey(user_id, taskItemId(scope_id)))
  if (item?.value.state !== 'claimed') return undefined
  return (await tasks.get(taskKey(user_id, scope_id)))?.value
}

export const revokeSecretHandler =
  (deps: Deps): Handler<typeof revokeSecret> =>
  async ({ principal, idempotency_key }, { scope_type, scope_id, name: given }) => {
    const { user_id } = principal
    const scope = { scope_type, scope_id }
    const name = secretName(given)
    await checkOwnScope(deps, user_id, scope)
    const claimed = await claimedTask(deps, user_id, scope)
    const place = { user_id, ...scope, name }
    const key_hash = keyHash(idempotency_key)
    const now = new Date(deps.clock.now())
    await transaction(deps.db, async (trx) => {
      await lockScope(trx, place)
      const last = await latestAt(trx, place)
      if (last === undefined) throw noSuchSecret()
      if (last.revoked_at !== null) {
        if (key_hash !== null && last.revoke_key_hash === key_hash) return
        throw namedError('ErrAlreadyRevoked', `${name} is revoked already`)
      }
      await retireAt(trx, place, { now, key_hash })
      const at = now.getTime()
      await announceChange(trx, { ...place, change: 'revoked', at })
      if (claimed !== undefined) {
        const { goal_id, task_id } = claimed
        await announceRevokedInUse(trx, { user_id, goal_id, task_id, name, at })
      }
    })
    await publishChanges(deps)
    return { ...scope, name, revoked: true }
  }
