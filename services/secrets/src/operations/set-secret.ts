import type { Handler } from '@guildhall/bus'
import type { setSecret } from '@guildhall/contracts'
import { checkOwnScope } from '../access.ts'
import type { Deps } from '../deps.ts'
import { secretName } from '../secret-text.ts'
import { storeVersion } from '../store-version.ts'

export const setSecretHandler =
  (deps: Deps): Handler<typeof setSecret> =>
  async ({ principal, idempotency_key }, { scope_type, scope_id, name, value, hosts }) => {
    const { user_id } = principal
    await checkOwnScope(deps, user_id, { scope_type, scope_id })
    const place = { user_id, scope_type, scope_id, name: secretName(name) }
    return await storeVersion(deps, place, { change: 'set', value, hosts, idempotency_key })
  }
