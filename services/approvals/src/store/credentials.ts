import type { EndpointId, IdentityCredential } from '@guildhall/contracts'
import { type Connection, firstRow, rowsOf } from '@guildhall/db'

export interface CredentialRow {
  readonly credential_sha256: string
  readonly endpoint_id: EndpointId
  readonly revoked: boolean
}

const PROJECTED = 'credential_sha256, endpoint_id, revoked_at is not null as revoked'

interface NewCredential {
  readonly credential_sha256: string
  readonly endpoint_id: string
  readonly prefix: string
  readonly created_at: Date
}

export const insertCredential = async (
  db: Connection,
  credential: NewCredential,
): Promise<CredentialRow> => {
  const [row] = await rowsOf<CredentialRow>(
    db,
    `insert into credentials (credential_sha256, endpoint_id, prefix, created_at)
     values (:credential_sha256, :endpoint_id, :prefix, :created_at)
     returning ${PROJECTED}`,
    { ...credential },
  )
  if (row === undefined) throw new Error('an insert returned no row')
  return row
}

export const revokeCredentials = (
  db: Connection,
  endpoint_id: string,
  now: Date,
): Promise<CredentialRow[]> =>
  rowsOf(
    db,
    `update credentials set revoked_at = :now
     where endpoint_id = :endpoint_id and revoked_at is null
     returning ${PROJECTED}`,
    { endpoint_id, now },
  )

/** Whether this is the credential by which the endpoint is used now. */
export const isLiveCredential = async (
  db: Connection,
  credential: { readonly credential_sha256: string; readonly endpoint_id: string },
): Promise<boolean> => {
  const row = await firstRow(
    db,
    `select endpoint_id from credentials
     where credential_sha256 = :credential_sha256 and endpoint_id = :endpoint_id
       and revoked_at is null`,
    { ...credential },
  )
  return row !== undefined
}

/** A page over all users, for the reconciler alone. */
export const credentialsAfter = (
  db: Connection,
  credential_sha256: string,
  limit: number,
): Promise<CredentialRow[]> =>
  rowsOf(
    db,
    `select ${PROJECTED} from credentials
     where credential_sha256 > :credential_sha256 order by credential_sha256 limit :limit`,
    { credential_sha256, limit },
  )

export const credentialRecord = (row: CredentialRow): IdentityCredential => ({
  v: 1,
  kind: 'endpoint',
  endpoint_id: row.endpoint_id,
  revoked: row.revoked,
})
