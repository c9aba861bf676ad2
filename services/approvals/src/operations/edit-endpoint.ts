import type { Handler } from '@guildhall/bus'
import { editEndpoint } from '@guildhall/contracts'
import { transaction } from '@guildhall/db'
import { callOf } from '../call.ts'
import type { Deps } from '../deps.ts'
import { checkSettings } from '../endpoint-settings.ts'
import { editEndpointIn, endpointKeyOf } from '../endpoints.ts'

export const handleEditEndpoint =
  (deps: Deps): Handler<typeof editEndpoint> =>
  async (ctx, input) => {
    const call = callOf(deps, ctx, editEndpoint, input)
    const { endpoint_id, ...settings } = input
    const key = endpointKeyOf(call.user_id, endpoint_id)
    const changes = checkSettings(settings, call.now.getTime())
    const endpoint = await transaction(deps.db, (trx) => editEndpointIn(trx, call, key, changes))
    await deps.settle()
    return endpoint
  }
