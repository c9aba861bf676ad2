import type { AnonymousContext } from '@guildhall/bus'
import type { claimCredential, InputOf, OutputOf } from '@guildhall/contracts'
import { transaction } from '@guildhall/db'
import { claimCredentialIn, claimRefused } from '../claim-credential.ts'
import { clientConfig } from '../client-config.ts'
import type { Deps } from '../deps.ts'
import { addAudit } from '../store/audit-log.ts'
import { admitAttempt, claimBucket, giveBackAttempt } from '../throttle.ts'

/** For whoever has the token; it is counted before it is looked at, like a login. */
export const handleClaimCredential =
  (deps: Deps) =>
  async (
    ctx: AnonymousContext,
    { claim_token, client_address }: InputOf<typeof claimCredential>,
  ): Promise<OutputOf<typeof claimCredential>> => {
    const buckets = [claimBucket(client_address)]
    await admitAttempt(deps, buckets)
    const now = new Date(deps.clock.now())
    const { request_id } = ctx
    const vended = await transaction(deps.db, async (trx) => {
      const claimed = await claimCredentialIn(trx, deps, ctx, claim_token, now)
      const { user_id = null, agent_id, agent_name } = claimed?.endpoint ?? {}
      await addAudit(trx, {
        at: now,
        user_id,
        actor: agent_id === undefined ? 'anonymous' : `agent:${agent_id}`,
        action: claimed === undefined ? 'credential_claim.denied' : 'credential_claim.used',
        object: agent_name === undefined ? 'unknown' : `agent:${agent_id}`,
        request_id,
      })
      return claimed
    })
    if (vended === undefined) throw claimRefused()
    await giveBackAttempt(deps, buckets)
    await deps.settle()
    const { endpoint, token } = vended
    const mcp_url = deps.public_mcp_url
    return {
      agent_id: endpoint.agent_id,
      agent_name: endpoint.agent_name,
      token,
      mcp_url,
      client_config: clientConfig(mcp_url, token),
    }
  }
