import type { Handler } from '@guildhall/bus'
import { revokeApiToken } from '@guildhall/contracts'
import { transaction } from '@guildhall/db'
import { revokeApiTokenIn } from '../api-tokens.ts'
import { callOf } from '../call.ts'
import type { Deps } from '../deps.ts'

export const handleRevokeApiToken =
  (deps: Deps): Handler<typeof revokeApiToken> =>
  async (ctx, input) => {
    const call = callOf(deps, ctx, revokeApiToken, input)
    const token_id = await transaction(deps.db, (trx) =>
      revokeApiTokenIn(trx, call, input.token_id),
    )
    await deps.settle()
    return { token_id, revoked: true }
  }
