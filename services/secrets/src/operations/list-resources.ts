import type { Handler } from '@guildhall/bus'
import type { listResources, SecretScope } from '@guildhall/contracts'
import { reachOf } from '../access.ts'
import type { Deps } from '../deps.ts'
import { listOpenWithinReach } from '../store/resource-requests.ts'
import { listWithinReach } from '../store/secrets.ts'

interface Resource {
  readonly name: string
  readonly scope: SecretScope
  readonly available: boolean
}

/** One row per name: the secret that a call would use, else what is still waited for. */
export const listResourcesHandler =
  (deps: Deps): Handler<typeof listResources> =>
  async ({ principal }, { task_id }) => {
    const reach = await reachOf(deps, principal, task_id)
    const resources = new Map<string, Resource>()
    for (const { name, task_id: asked_for } of await listOpenWithinReach(deps.db, reach)) {
      const scope = asked_for !== null && asked_for === reach.task_id ? 'task' : 'agent'
      resources.set(name, { name, scope, available: false })
    }
    for (const { name, scope_type: scope } of await listWithinReach(deps.db, reach)) {
      resources.set(name, { name, scope, available: true })
    }
    return { resources: [...resources.values()].sort((a, b) => (a.name < b.name ? -1 : 1)) }
  }
