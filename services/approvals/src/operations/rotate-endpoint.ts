import type { Handler } from '@guildhall/bus'
import { rotateEndpoint } from '@guildhall/contracts'
import { transaction } from '@guildhall/db'
import { callOf } from '../call.ts'
import type { Deps } from '../deps.ts'
import { endpointKeyOf } from '../endpoints.ts'
import { rotateEndpointIn } from '../vend.ts'

export const handleRotateEndpoint =
  (deps: Deps): Handler<typeof rotateEndpoint> =>
  async (ctx, input) => {
    const call = callOf(deps, ctx, rotateEndpoint, input)
    const key = endpointKeyOf(call.user_id, input.endpoint_id)
    const { endpoint, token } = await transaction(deps.db, (trx) =>
      rotateEndpointIn(trx, deps, call, key),
    )
    await deps.settle()
    return { endpoint, token, mcp_url: deps.public_mcp_url }
  }
