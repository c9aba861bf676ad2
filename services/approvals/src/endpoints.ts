import { type Endpoint, EndpointId, ServiceError } from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import { announceEntries, announceRevocation } from './announce.ts'
import { audit, type Call, claimCall } from './call.ts'
import type { SettingChanges } from './endpoint-settings.ts'
import { credentialEntry, endpointEntry } from './projection.ts'
import { type CredentialRow, credentialRecord, revokeCredentials } from './store/credentials.ts'
import {
  type EndpointChanges,
  type EndpointKey,
  findEndpoint,
  revokeActiveEndpoint,
  updateEndpoint,
} from './store/endpoints.ts'

/**
 * Changes of an endpoint, each a step of its caller's transaction: the row, its announcement and its
 * audit entry stand together or not at all. Every change raises the version, in the statement that
 * makes it; the identity bucket goes by it, so an announcement that comes late is told from news.
 */

export const noSuchEndpoint = (): ServiceError =>
  new ServiceError('not_found', 'there is no such endpoint')

const isRevoked = (): ServiceError =>
  new ServiceError('conflict', 'this endpoint is revoked', {
    what_to_do: 'A revoked endpoint stays revoked. Vend a new one.',
  })

/** Unknown, foreign and malformed are one: there is no such endpoint. */
export const endpointKeyOf = (user_id: number, endpoint_id: string): EndpointKey => {
  if (!EndpointId.safeParse(endpoint_id).success) throw noSuchEndpoint()
  return { user_id, endpoint_id }
}

const existingEndpoint = async (trx: Trx, key: EndpointKey): Promise<Endpoint> => {
  const endpoint = await findEndpoint(trx, key)
  if (endpoint === undefined) throw noSuchEndpoint()
  return endpoint
}

export const activeEndpoint = async (trx: Trx, key: EndpointKey): Promise<Endpoint> => {
  const endpoint = await existingEndpoint(trx, key)
  if (endpoint.status === 'revoked') throw isRevoked()
  return endpoint
}

/** One conditional statement; only when it finds nothing is the reason looked for. */
export const changeEndpoint = async (
  trx: Trx,
  key: EndpointKey,
  changes: EndpointChanges,
): Promise<Endpoint> =>
  (await updateEndpoint(trx, key, changes)) ?? (await activeEndpoint(trx, key))

/** The endpoint as the gateway shall see it, with what became of its credentials. */
export const announceEndpoint = (
  trx: Trx,
  endpoint: Endpoint,
  credentials: readonly CredentialRow[] = [],
): Promise<void> =>
  announceEntries(trx, [
    ...credentials.map((row) => credentialEntry(row.credential_sha256, credentialRecord(row))),
    endpointEntry(endpoint),
  ])

export const editEndpointIn = async (
  trx: Trx,
  call: Call,
  key: EndpointKey,
  changes: SettingChanges,
): Promise<Endpoint> => {
  const { repeat } = await claimCall(trx, call, key.endpoint_id)
  if (repeat) return await existingEndpoint(trx, key)
  // A new version would be announced to every replica for nothing.
  if (Object.keys(changes).length === 0) return await activeEndpoint(trx, key)
  const endpoint = await changeEndpoint(trx, key, changes)
  await announceEndpoint(trx, endpoint)
  await audit(trx, call, 'endpoint.edited', endpoint.endpoint_id, {
    changes,
    version: endpoint.version,
  })
  return endpoint
}

/**
 * The second revocation finds nothing to do, and answers as the first did; so it needs no idempotency
 * key. The credentials are revoked with the endpoint: of its entries in the bucket, whichever arrives
 * first shuts the door.
 */
export const revokeEndpointIn = async (
  trx: Trx,
  call: Call,
  key: EndpointKey,
): Promise<Endpoint> => {
  const endpoint = await revokeActiveEndpoint(trx, key, call.now)
  if (endpoint === undefined) return await existingEndpoint(trx, key)
  const { endpoint_id, agent_id, user_id, version } = endpoint
  await announceEndpoint(trx, endpoint, await revokeCredentials(trx, endpoint_id, call.now))
  await announceRevocation(trx, {
    v: 1,
    endpoint_id,
    agent_id,
    user_id,
    revoked_at: call.now.getTime(),
  })
  await audit(trx, call, 'endpoint.revoked', endpoint_id, { version })
  return endpoint
}
