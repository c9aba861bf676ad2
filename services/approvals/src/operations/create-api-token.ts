import type { Handler } from '@guildhall/bus'
import { createApiToken } from '@guildhall/contracts'
import { transaction } from '@guildhall/db'
import { createApiTokenIn } from '../api-tokens.ts'
import { callOf } from '../call.ts'
import type { Deps } from '../deps.ts'
import { checkExpiry } from '../endpoint-settings.ts'
import { checkName } from '../text.ts'

export const handleCreateApiToken =
  (deps: Deps): Handler<typeof createApiToken> =>
  async (ctx, input) => {
    const call = callOf(deps, ctx, createApiToken, input)
    const wanted = {
      name: checkName('name', input.name),
      expires_at: checkExpiry(input.expires_at, call.now.getTime()),
    }
    const created = await transaction(deps.db, (trx) => createApiTokenIn(trx, deps, call, wanted))
    await deps.settle()
    return created
  }
