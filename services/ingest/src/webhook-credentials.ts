import { randomBytes } from 'node:crypto'
import { ServiceError, type SourceType, type WebhookId } from '@guildhall/contracts'
import type { Deps } from './deps.ts'
import { tokenHash } from './project-webhook.ts'
import { sources } from './sources/index.ts'

/** The two things that a webhook's owner is shown: its URL and, once, its secret. */

const TOKEN_BYTES = 16

export const urlOf = (public_url: string, token: string): string =>
  `${public_url}/webhooks/w/${token}`

/** The token routes; for a generic webhook it is also the credential. So it is sealed, and looked up by hash. */
export const newUrl = ({ sealer, public_url }: Deps, webhook_id: WebhookId) => {
  const token = randomBytes(TOKEN_BYTES).toString('hex')
  return {
    token_hash: tokenHash(token),
    sealed: sealer.seal(token, { id: webhook_id, purpose: 'url_token' }),
    ingest_url: urlOf(public_url, token),
  }
}

/** Refuses a malformed secret; undefined where none was given. */
export const checkedSecret = (
  source_type: SourceType,
  given: string | undefined,
): string | undefined => {
  if (given === undefined) return undefined
  const problem = sources[source_type].checkSecret(given)
  if (problem === undefined) return given
  throw new ServiceError('invalid_argument', `signing_secret: ${problem}`)
}

/** The secret to use: the one given, else a minted one, else none yet. */
export const secretFor = (source_type: SourceType, given: string | undefined) => {
  const minted = given === undefined ? sources[source_type].mint?.() : undefined
  return { secret: given ?? minted, minted }
}

export const missingSecretWarning = (source_type: SourceType): string =>
  `Deliveries are refused with 503 until set_webhook_secret has the signing secret that ${source_type} shows for this URL.`
