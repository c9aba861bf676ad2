import type { Handler } from '@guildhall/bus'
import type { listSecrets } from '@guildhall/contracts'
import { checkOwnScope } from '../access.ts'
import type { Deps } from '../deps.ts'
import { listOpenNames } from '../store/resource-requests.ts'
import { listActive } from '../store/secrets.ts'

/** What there is, and what was asked for and a secret of this scope would serve. */
export const listSecretsHandler =
  (deps: Deps): Handler<typeof listSecrets> =>
  async ({ principal: { user_id } }, scope) => {
    await checkOwnScope(deps, user_id, scope)
    const active = await listActive(deps.db, user_id, scope.scope_type, scope.scope_id)
    const open = await listOpenNames(deps.db, user_id, scope)
    const known = new Set(active.map(({ name }) => name))
    const secrets = [
      ...active.map(({ name, last_used_at }) => ({ name, available: true, last_used_at })),
      ...open
        .filter(({ name }) => !known.has(name))
        .map(({ name }) => ({ name, available: false, last_used_at: null })),
    ]
    return { secrets: secrets.sort((a, b) => (a.name < b.name ? -1 : 1)) }
  }
