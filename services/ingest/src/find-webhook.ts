import { endpointKey, ServiceError, sha256Hex, type WebhookConfig } from '@guildhall/contracts'
import type { Deps } from './deps.ts'
import { sources } from './sources/index.ts'

/** Where a URL's token leads, from what this replica holds in memory. */

type LookupDeps = Pick<Deps, 'webhookMirror' | 'identityMirror' | 'clock' | 'sealer' | 'log'>

const RETRY_UNCONFIGURED_SECONDS = 60

/** Something its owner has to mend; the provider should come back. */
const notConfigured = (): ServiceError =>
  new ServiceError('unavailable', 'webhook not configured', {
    retry_after_seconds: RETRY_UNCONFIGURED_SECONDS,
    what_to_do: 'The owner of this webhook has to set its secret or revive its endpoint.',
  })

/** Undefined for a URL that is unknown, deleted or past its overlap: all the same to the outside. */
export const findWebhook = (
  { webhookMirror, clock }: LookupDeps,
  token: string,
): WebhookConfig | undefined => {
  const config = webhookMirror.get(sha256Hex(token))
  if (config === undefined || config.deleted) return undefined
  return config.until !== null && config.until <= clock.now() ? undefined : config
}

/** Throws unless the endpoint that owns the webhook is live. A human's own webhook has none. */
export const checkOwner = (
  { identityMirror, clock }: LookupDeps,
  { endpoint_id }: WebhookConfig,
): void => {
  if (endpoint_id === null) return
  const record = identityMirror.get(endpointKey(endpoint_id))
  const endpoint = record !== undefined && 'endpoint' in record ? record.endpoint : undefined
  if (endpoint?.status !== 'active') throw notConfigured()
  const { expires_at } = endpoint
  if (expires_at !== null && Date.parse(expires_at) <= clock.now()) throw notConfigured()
}

/** The secrets that a signature may be made with now, newest first. */
export const openSecrets = (
  { clock, sealer, log }: LookupDeps,
  { webhook_id, source_type, secrets }: WebhookConfig,
): string[] => {
  if (sources[source_type].trust_mode === 'token') return []
  const now = clock.now()
  const opened: string[] = []
  for (const { sealed, until } of secrets) {
    if (until !== null && until <= now) continue
    try {
      opened.push(sealer.open(sealed, { id: webhook_id, purpose: 'signing_secret' }))
    } catch (err) {
      log.error({ err, webhook_id }, 'a webhook secret cannot be unsealed')
    }
  }
  if (opened.length === 0) throw notConfigured()
  return opened
}
