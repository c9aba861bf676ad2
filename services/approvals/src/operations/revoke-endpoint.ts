import type { Handler } from '@guildhall/bus'
import { revokeEndpoint } from '@guildhall/contracts'
import { transaction } from '@guildhall/db'
import { callOf } from '../call.ts'
import type { Deps } from '../deps.ts'
import { endpointKeyOf, revokeEndpointIn } from '../endpoints.ts'

export const handleRevokeEndpoint =
  (deps: Deps): Handler<typeof revokeEndpoint> =>
  async (ctx, input) => {
    const call = callOf(deps, ctx, revokeEndpoint, input)
    const key = endpointKeyOf(call.user_id, input.endpoint_id)
    const endpoint = await transaction(deps.db, (trx) => revokeEndpointIn(trx, call, key))
    await deps.settle()
    return endpoint
  }
