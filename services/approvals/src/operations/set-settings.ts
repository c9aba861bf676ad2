import type { Handler } from '@guildhall/bus'
import { ServiceError, setSettings } from '@guildhall/contracts'
import { transaction } from '@guildhall/db'
import { audit, callOf } from '../call.ts'
import type { Deps } from '../deps.ts'
import { putSettings } from '../store/user-settings.ts'
import { lockUser } from '../store/users.ts'

export const handleSetSettings =
  (deps: Deps): Handler<typeof setSettings> =>
  (ctx, input) => {
    const call = callOf(deps, ctx, setSettings, input)
    const { user_id } = call
    return transaction(deps.db, async (trx) => {
      if (!(await lockUser(trx, user_id))) {
        throw new ServiceError('not_found', 'there is no such user')
      }
      const settings = await putSettings(trx, user_id, {
        command_verifiers_enabled: input.command_verifiers_enabled ?? null,
      })
      await audit(trx, call, 'settings.changed', `user:${user_id}`, { ...settings })
      return settings
    })
  }
