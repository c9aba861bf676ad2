import { type ApiToken, ApiTokenId, newApiTokenId, ServiceError } from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import { announceEntries } from './announce.ts'
import { audit, type Call, claimCall } from './call.ts'
import type { Deps } from './deps.ts'
import { API_TOKENS_PER_USER_MAX } from './limits.ts'
import { credentialEntry } from './projection.ts'
import {
  type ApiTokenKey,
  type ApiTokenRow,
  apiTokenRecord,
  countLiveApiTokens,
  findApiToken,
  insertApiToken,
  revokeLiveApiToken,
} from './store/api-tokens.ts'
import { lockUser } from './store/users.ts'
import type { Token } from './tokens.ts'

/**
 * Changes of a person's API tokens, each a step of its caller's transaction. A token is its person at
 * the REST API, without the scope that an endpoint has; agents therefore never get one.
 */

const noSuchToken = (): ServiceError => new ServiceError('not_found', 'there is no such API token')

const announceToken = (trx: Trx, row: ApiTokenRow): Promise<void> =>
  announceEntries(trx, [credentialEntry(row.token_sha256, apiTokenRecord(row))])

/** Under the user's row lock: of two creates at the boundary the second counts the first. */
const checkCeiling = async (trx: Trx, user_id: number): Promise<void> => {
  if (!(await lockUser(trx, user_id))) throw new ServiceError('not_found', 'there is no such user')
  if ((await countLiveApiTokens(trx, user_id)) < API_TOKENS_PER_USER_MAX) return
  throw new ServiceError(
    'ceiling_exceeded',
    `you have ${API_TOKENS_PER_USER_MAX} API tokens, which is the most there may be`,
    { what_to_do: 'Revoke one that is not needed any more; expired ones count too.' },
  )
}

interface CreatedApiToken {
  readonly api_token: ApiToken
  readonly token: string
}

/** For a repeat: the same token again, unless it was revoked since. */
const showAgain = async (
  trx: Trx,
  key: ApiTokenKey,
  { token, sha256 }: Token,
): Promise<CreatedApiToken> => {
  const row = await findApiToken(trx, key)
  if (row === undefined || row.revoked || row.token_sha256 !== sha256) {
    throw new ServiceError('conflict', 'the API token of that call does not work any more', {
      what_to_do: 'Create another one, under a new idempotency key.',
    })
  }
  const { token_sha256: _, revoked: __, ...api_token } = row
  return { api_token, token }
}

export const createApiTokenIn = async (
  trx: Trx,
  { tokens }: Pick<Deps, 'tokens'>,
  call: Call,
  wanted: Pick<ApiToken, 'name' | 'expires_at'>,
): Promise<CreatedApiToken> => {
  const { user_id, now } = call
  const { repeat, object_id, seed } = await claimCall(trx, call, newApiTokenId(now.getTime()))
  const fresh = tokens.mint('gha_', seed)
  if (repeat) return await showAgain(trx, { user_id, token_id: object_id }, fresh)
  await checkCeiling(trx, user_id)
  const token_id = ApiTokenId.parse(object_id)
  const { token, sha256, prefix } = fresh
  const row = { token_id, user_id, token_sha256: sha256, expires_at: wanted.expires_at }
  const api_token = await insertApiToken(trx, { ...wanted, ...row, prefix, created_at: now })
  await announceToken(trx, { ...row, revoked: false })
  await audit(trx, call, 'api_token.created', token_id, { ...wanted, prefix })
  return { api_token, token }
}

/** Revoking what is revoked already is no error: its owner has what was asked for. */
export const revokeApiTokenIn = async (
  trx: Trx,
  call: Call,
  given_id: string,
): Promise<ApiTokenId> => {
  const parsed = ApiTokenId.safeParse(given_id)
  if (!parsed.success) throw noSuchToken()
  const token_id = parsed.data
  const key = { user_id: call.user_id, token_id }
  const revoked = await revokeLiveApiToken(trx, key, call.now)
  if (revoked !== undefined) {
    await announceToken(trx, revoked)
    await audit(trx, call, 'api_token.revoked', token_id)
  } else if ((await findApiToken(trx, key)) === undefined) {
    throw noSuchToken()
  }
  return token_id
}
