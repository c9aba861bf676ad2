import { randomBytes } from 'node:crypto'
import type { AnonymousContext } from '@guildhall/bus'
import { newEndpointId, QueueName, ServiceError, sha256Hex } from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import { endpointGrants } from './agent-grants.ts'
import { existingAgent } from './agents.ts'
import type { Call } from './call.ts'
import type { Deps } from './deps.ts'
import { completeSettings } from './endpoint-settings.ts'
import { LOGIN_LINK_REPEAT_MS } from './limits.ts'
import { redeemCredentialClaim } from './store/credential-claims.ts'
import { checkEndpointCeiling, issueEndpointIn, showAgain, type Vended } from './vend.ts'

/**
 * A spawned agent gets its endpoint here and not before: a credential that nobody fetches does not
 * exist. The claim token is used up by one conditional update, so of two at once one gets it.
 */

const SALT_BYTES = 16

export const claimCredentialIn = async (
  trx: Trx,
  { tokens }: Pick<Deps, 'tokens'>,
  { request_id, idempotency_key }: AnonymousContext,
  claim_token: string,
  now: Date,
): Promise<Vended | undefined> => {
  const token_sha256 = sha256Hex(claim_token)
  const own_id = newEndpointId(now.getTime())
  const used = await redeemCredentialClaim(trx, {
    token_sha256,
    now,
    endpoint_id: own_id,
    salt: randomBytes(SALT_BYTES).toString('base64url'),
    key_hash: idempotency_key === undefined ? null : sha256Hex(idempotency_key),
    repeat_since: new Date(now.getTime() - LOGIN_LINK_REPEAT_MS),
  })
  if (used === undefined) return undefined
  const { user_id, agent_id, endpoint_id, queue, salt } = used
  const seed =
    idempotency_key === undefined
      ? undefined
      : ['credential_claim', token_sha256, idempotency_key, salt]
  const fresh = tokens.mint('agt_', seed)
  if (endpoint_id !== own_id) return await showAgain(trx, { user_id, endpoint_id }, fresh)
  const actor = `agent:${agent_id}`
  const call: Call = { user_id, actor, request_id, now, keyed: undefined }
  await checkEndpointCeiling(trx, user_id)
  const agent = await existingAgent(trx, { user_id, agent_id })
  const chosen = { tools: endpointGrants(agent.tool_scope), queues: [QueueName.parse(queue)] }
  return await issueEndpointIn(trx, call, {
    endpoint_id,
    agent_id,
    settings: completeSettings(chosen, agent.name),
    fresh,
  })
}

/** One answer for everything that can be wrong with a claim token. */
export const claimRefused = (): ServiceError =>
  new ServiceError('unauthenticated', 'this claim token is not valid', {
    what_to_do: 'Each works once and for a day. Your owner can vend an endpoint for the agent.',
  })
