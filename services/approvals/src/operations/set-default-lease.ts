import type { Handler } from '@guildhall/bus'
import { describeDefaultLease, ServiceError, setDefaultLease } from '@guildhall/contracts'
import { transaction } from '@guildhall/db'
import { callOf } from '../call.ts'
import type { Deps } from '../deps.ts'
import { editEndpointIn, noSuchEndpoint } from '../endpoints.ts'

/** An agent changes its own endpoint and no other: which one it is comes from its credential. */
export const handleSetDefaultLease =
  (deps: Deps): Handler<typeof setDefaultLease> =>
  async (ctx, input) => {
    const { principal } = ctx
    if (principal.kind === 'human') {
      throw new ServiceError('invalid_argument', 'only an endpoint has a default lease', {
        what_to_do: 'Name the endpoint: use edit_endpoint.',
      })
    }
    const call = callOf(deps, ctx, setDefaultLease, input)
    const key = { user_id: principal.user_id, endpoint_id: principal.endpoint_id }
    const endpoint = await transaction(deps.db, (trx) =>
      editEndpointIn(trx, call, key, input),
    ).catch((error: unknown) => {
      // Revoked while the call was under way: for this caller the endpoint is gone.
      throw error instanceof ServiceError && error.code === 'conflict' ? noSuchEndpoint() : error
    })
    await deps.settle()
    return describeDefaultLease(endpoint.default_lease_ttl_seconds)
  }
