import type { Handler } from '@guildhall/bus'
import type { rotateSecret } from '@guildhall/contracts'
import { checkOwnScope } from '../access.ts'
import type { Deps } from '../deps.ts'
import { secretName } from '../secret-text.ts'
import { storeVersion } from '../store-version.ts'

export const rotateSecretHandler =
  (deps: Deps): Handler<typeof rotateSecret> =>
  async ({ principal, idempotency_key }, { scope_type, scope_id, name, value, hosts }) => {
    const { user_id } = principal
    await checkOwnScope(deps, user_id, { scope_type, scope_id })
    const place = { user_id, scope_type, scope_id, name: secretName(name) }
    return await storeVersion(deps, place, { change: 'rotated', value, hosts, idempotency_key })
  }
