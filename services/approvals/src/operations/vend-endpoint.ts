import type { Handler } from '@guildhall/bus'
import { vendEndpoint } from '@guildhall/contracts'
import { transaction } from '@guildhall/db'
import { callOf } from '../call.ts'
import { clientConfig } from '../client-config.ts'
import type { Deps } from '../deps.ts'
import { checkSettings } from '../endpoint-settings.ts'
import { vendEndpointIn } from '../vend.ts'

export const handleVendEndpoint =
  (deps: Deps): Handler<typeof vendEndpoint> =>
  async (ctx, input) => {
    const call = callOf(deps, ctx, vendEndpoint, input)
    const { agent, ...settings } = input
    const chosen = {
      ...checkSettings(settings, call.now.getTime()),
      queues: [...new Set(input.queues)],
    }
    const { endpoint, token } = await transaction(deps.db, (trx) =>
      vendEndpointIn(trx, deps, call, agent, chosen),
    )
    await deps.settle()
    const mcp_url = deps.public_mcp_url
    return { endpoint, token, mcp_url, client_config: clientConfig(mcp_url, token) }
  }
