import { defaultGrants, type Endpoint, newEndpointId, ServiceError } from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import { ensureAgentIn, lockActiveAgent } from './agents.ts'
import { audit, type Call, claimCall } from './call.ts'
import type { Deps } from './deps.ts'
import {
  completeSettings,
  type EndpointSettings,
  type SettingChanges,
} from './endpoint-settings.ts'
import { activeEndpoint, announceEndpoint, changeEndpoint } from './endpoints.ts'
import { ENDPOINTS_PER_USER_MAX } from './limits.ts'
import type { StoredAgent } from './store/agents.ts'
import { insertCredential, isLiveCredential, revokeCredentials } from './store/credentials.ts'
import { countActiveEndpoints, type EndpointKey, insertEndpoint } from './store/endpoints.ts'
import { lockUser } from './store/users.ts'
import { checkName } from './text.ts'
import type { Token } from './tokens.ts'

/**
 * Endpoints with a fresh credential, each a step of its caller's transaction.
 *
 * An endpoint has one credential that works, never two: what leaks is replaced by a rotation, and no
 * forgotten second one stays behind. So there is no overlap in which both work; the agent that held
 * the old one is told at its next call. A person who runs two clients vends two endpoints, and can
 * revoke either.
 */

export interface Vended {
  readonly endpoint: Endpoint
  readonly token: string
}

type AgentChoice = { readonly agent_id: number } | { readonly name: string }

/** An agent that a vend makes may hand on what this, its first endpoint, may do. */
const chooseAgent = (
  trx: Trx,
  call: Call,
  agent: AgentChoice,
  tools: readonly string[],
): Promise<StoredAgent> =>
  // By name it is made when it is new, so that a first endpoint takes one call and not two.
  'name' in agent
    ? ensureAgentIn(trx, call, checkName('agent.name', agent.name), tools)
    : lockActiveAgent(trx, { user_id: call.user_id, agent_id: agent.agent_id })

/** Under the user's row lock: of two vends at the boundary the second counts the first. */
export const checkEndpointCeiling = async (trx: Trx, user_id: number): Promise<void> => {
  if (!(await lockUser(trx, user_id))) throw new ServiceError('not_found', 'there is no such user')
  if ((await countActiveEndpoints(trx, user_id)) < ENDPOINTS_PER_USER_MAX) return
  throw new ServiceError(
    'ceiling_exceeded',
    `you have ${ENDPOINTS_PER_USER_MAX} active endpoints, which is the most there may be`,
    { what_to_do: 'Revoke an endpoint that is not needed any more.' },
  )
}

type Mint = Pick<Deps, 'tokens'>

/** For a repeat: the same token, as long as it is what the endpoint is used by. */
export const showAgain = async (
  trx: Trx,
  key: EndpointKey,
  { token, sha256 }: Token,
): Promise<Vended> => {
  const endpoint = await activeEndpoint(trx, key)
  const live = { credential_sha256: sha256, endpoint_id: key.endpoint_id }
  if (await isLiveCredential(trx, live)) return { endpoint, token }
  throw new ServiceError('conflict', 'the credential of that call cannot be shown again', {
    what_to_do: 'Rotate the endpoint, under a new idempotency key, to get a credential that works.',
  })
}

interface Issue {
  readonly endpoint_id: string
  readonly agent_id: number
  readonly settings: EndpointSettings
  readonly fresh: Token
}

/** The endpoint with its first credential. */
export const issueEndpointIn = async (
  trx: Trx,
  call: Call,
  { endpoint_id, agent_id, settings, fresh }: Issue,
): Promise<Vended> => {
  const { user_id, now } = call
  const { token, sha256, prefix } = fresh
  const endpoint = await insertEndpoint(trx, {
    ...settings,
    endpoint_id,
    user_id,
    agent_id,
    credential_prefix: prefix,
    created_at: now,
  })
  const credential = await insertCredential(trx, {
    credential_sha256: sha256,
    endpoint_id,
    prefix,
    created_at: now,
  })
  await announceEndpoint(trx, endpoint, [credential])
  await audit(trx, call, 'endpoint.vended', endpoint_id, { agent_id, credential_prefix: prefix })
  return { endpoint, token }
}

export const vendEndpointIn = async (
  trx: Trx,
  { tokens }: Mint,
  call: Call,
  agent: AgentChoice,
  chosen: SettingChanges & Pick<EndpointSettings, 'queues'>,
): Promise<Vended> => {
  const { user_id, now } = call
  const {
    repeat,
    object_id: endpoint_id,
    seed,
  } = await claimCall(trx, call, newEndpointId(now.getTime()))
  const fresh = tokens.mint('agt_', seed)
  // Before the ceiling: a repeat makes nothing, so a full account must not refuse it.
  if (repeat) return await showAgain(trx, { user_id, endpoint_id }, fresh)
  await checkEndpointCeiling(trx, user_id)
  const tools = chosen.tools ?? defaultGrants
  const { agent_id, name } = await chooseAgent(trx, call, agent, tools)
  return await issueEndpointIn(trx, call, {
    endpoint_id,
    agent_id,
    settings: completeSettings(chosen, name),
    fresh,
  })
}

/** A new credential in place of the old one, which stops in the same transaction. */
export const rotateEndpointIn = async (
  trx: Trx,
  { tokens }: Mint,
  call: Call,
  key: EndpointKey,
): Promise<Vended> => {
  const { repeat, object_id: endpoint_id, seed } = await claimCall(trx, call, key.endpoint_id)
  const fresh = tokens.mint('agt_', seed)
  if (repeat) return await showAgain(trx, key, fresh)
  const { token, sha256, prefix } = fresh
  // First the endpoint: its row is the lock under which rotations follow each other.
  const endpoint = await changeEndpoint(trx, key, { credential_prefix: prefix })
  const revoked = await revokeCredentials(trx, endpoint_id, call.now)
  const credential = await insertCredential(trx, {
    credential_sha256: sha256,
    endpoint_id,
    prefix,
    created_at: call.now,
  })
  await announceEndpoint(trx, endpoint, [...revoked, credential])
  await audit(trx, call, 'endpoint.rotated', endpoint_id, { credential_prefix: prefix })
  return { endpoint, token }
}
