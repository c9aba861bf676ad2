import {
  type DeliveryAccepted,
  type DeliveryMeta,
  deriveTodoId,
  type RateLimit,
  ServiceError,
  toServiceError,
  type WebhookConfig,
} from '@guildhall/contracts'
import { type RateLimiter, senderOf } from '@guildhall/runtime'
import type { Deps } from './deps.ts'
import { checkOwner, findWebhook, openSecrets } from './find-webhook.ts'
import { deliveryCounter } from './metrics.ts'
import { sanitizeHeaders } from './sanitize-headers.ts'
import { sendDelivery } from './send-delivery.ts'
import { sources } from './sources/index.ts'
import { readJson } from './sources/json.ts'
import type { RefusalReason, RequestHeaders, Verdict } from './sources/source.ts'

/**
 * What happens to a request for a webhook's URL, in this order: is the URL known, its owner live,
 * its secret there, the signature good; is it a handshake; is the sender within its rate; store it.
 * No database: it may be down.
 */

interface DeliveryRequest {
  readonly token: string
  readonly headers: RequestHeaders
  readonly body: Buffer
  readonly content_type: string
  readonly source_ip: string
}

type Outcome =
  | { readonly kind: 'accepted'; readonly answer: DeliveryAccepted }
  | { readonly kind: 'handshake'; readonly answer: Readonly<Record<string, string>> }

export interface AcceptDeps
  extends Pick<
    Deps,
    'bus' | 'bodies' | 'clock' | 'log' | 'sealer' | 'webhookMirror' | 'identityMirror'
  > {
  readonly limiter: RateLimiter
  readonly webhook_rate: RateLimit
  readonly client_rate: RateLimit
}

/** The sender is told only that it failed; which check did is for our log and metrics. */
class SignatureRefused extends ServiceError {
  readonly reason: RefusalReason

  constructor(reason: RefusalReason) {
    super('signature_invalid', 'signature verification failed')
    this.reason = reason
  }
}

const checkRates = (
  { limiter, webhook_rate, client_rate, clock }: AcceptDeps,
  webhook_id: string,
  address: string,
): void => {
  const now_ms = clock.now()
  // One after the other, so that a sender over its limit does not also use up the webhook's.
  const wait_seconds =
    limiter.take(`client ${senderOf(address)}`, client_rate, now_ms) ||
    limiter.take(`webhook ${webhook_id}`, webhook_rate, now_ms)
  if (wait_seconds === 0) return
  throw new ServiceError('rate_limited', 'too many deliveries', {
    retry_after_seconds: wait_seconds,
  })
}

const metaOf = (
  { headers, body, content_type, source_ip }: DeliveryRequest,
  config: WebhookConfig,
  verdict: Extract<Verdict, { ok: true }>,
  json: unknown,
  received_at: number,
): DeliveryMeta => {
  const { webhook_id, owner_id, endpoint_id, source_type, target_queue } = config
  const { trust_mode, describe } = sources[source_type]
  return {
    v: 1,
    todo_id: deriveTodoId([webhook_id, verdict.external_id]),
    webhook_id,
    owner_id,
    endpoint_id,
    source_type,
    queue: target_queue,
    trust_mode,
    verified: trust_mode === 'signed',
    verify_detail: verdict.detail,
    external_id: verdict.external_id,
    ...describe({ headers, json }),
    content_type,
    headers: sanitizeHeaders(headers),
    source_ip,
    payload_size: body.length,
    received_at,
  }
}

const answerFor = (meta: DeliveryMeta, created: boolean): DeliveryAccepted => ({
  todos: [{ id: meta.todo_id, endpoint_id: meta.endpoint_id, queue: meta.queue, created }],
  created: created ? 1 : 0,
  id: meta.todo_id,
  queue: meta.queue,
  verified: meta.verified,
  trust_mode: meta.trust_mode,
  ...(created ? {} : { repeat: true }),
})

const accept = async (
  deps: AcceptDeps,
  request: DeliveryRequest,
  config: WebhookConfig,
): Promise<Outcome> => {
  const { body, headers, source_ip } = request
  const { source_type: source, webhook_id } = config
  checkOwner(deps, config)
  const secrets = openSecrets(deps, config)
  const received_at = deps.clock.now()
  const verdict = sources[source].verify({ headers, body, secrets, now_ms: received_at })
  if (!verdict.ok) {
    deps.log.info({ webhook_id, source_ip, reason: verdict.reason }, 'delivery refused')
    throw new SignatureRefused(verdict.reason)
  }
  const json = readJson(request.content_type, body)
  const greeting = sources[source].handshake?.(json)
  if (greeting !== undefined) return { kind: 'handshake', answer: greeting }
  checkRates(deps, webhook_id, source_ip)
  const meta = metaOf(request, config, verdict, json, received_at)
  const created = await sendDelivery(deps, meta, body)
  deps.log.info({ webhook_id, todo_id: meta.todo_id, source_ip, created }, 'delivery accepted')
  return { kind: 'accepted', answer: answerFor(meta, created) }
}

const outcomeName = (outcome: Outcome): string => {
  if (outcome.kind === 'handshake') return outcome.kind
  return outcome.answer.created > 0 ? 'accepted' : 'duplicate'
}

const refusalName = (error: unknown): string =>
  error instanceof SignatureRefused ? error.reason : toServiceError(error).code

export const acceptDelivery = async (
  deps: AcceptDeps,
  request: DeliveryRequest,
): Promise<Outcome> => {
  const config = findWebhook(deps, request.token)
  if (config === undefined) throw new ServiceError('not_found', 'unknown webhook')
  const { source_type: source } = config
  try {
    const outcome = await accept(deps, request, config)
    deliveryCounter.inc({ source, outcome: outcomeName(outcome) })
    return outcome
  } catch (error) {
    deliveryCounter.inc({ source, outcome: refusalName(error) })
    throw error
  }
}
