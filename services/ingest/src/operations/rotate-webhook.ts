import type { Handler } from '@guildhall/bus'
import {
  type rotateWebhook,
  WEBHOOK_ROTATION_OVERLAP_SECONDS,
  type WebhookWithSecret,
} from '@guildhall/contracts'
import { addToOutbox, type Trx, transaction } from '@guildhall/db'
import { keyedCall, scopeOf } from '../caller.ts'
import type { Deps } from '../deps.ts'
import { publishChanges, WEBHOOK_CHANGED } from '../project-webhook.ts'
import { sources } from '../sources/index.ts'
import { answerOnce } from '../store/answers.ts'
import { changeWebhook, replaceSecret, replaceUrl, type Webhook } from '../store/webhooks.ts'
import { checkedSecret, missingSecretWarning, newUrl, secretFor } from '../webhook-credentials.ts'

/**
 * A new URL and a new secret. While the old ones still work, both URLs take both secrets: the
 * owner changes them at the provider one after the other, in either order.
 */
export const rotateWebhookHandler =
  (deps: Deps): Handler<typeof rotateWebhook> =>
  async (ctx, input) => {
    const scope = scopeOf(ctx.principal)
    const call = keyedCall(ctx, 'rotate_webhook', input)
    const now_ms = deps.clock.now()
    const overlap_ms = input.immediate ? 0 : WEBHOOK_ROTATION_OVERLAP_SECONDS * 1_000
    const answer = await transaction(deps.db, (trx) =>
      answerOnce(trx, deps.sealer, call, now_ms, async () => {
        const webhook = await changeWebhook(trx, scope, input.webhook_id, 'rotate', now_ms)
        const given = checkedSecret(webhook.source_type, input.signing_secret)
        return await rotate(deps, trx, webhook, given, { now_ms, until_ms: now_ms + overlap_ms })
      }),
    )
    await publishChanges(deps)
    return answer
  }

interface Times {
  readonly now_ms: number
  /** When the old pair ends. */
  readonly until_ms: number
}

const rotate = async (
  deps: Deps,
  trx: Trx,
  { webhook_id, source_type, target_queue }: Webhook,
  given: string | undefined,
  { now_ms, until_ms }: Times,
): Promise<WebhookWithSecret> => {
  const { trust_mode } = sources[source_type]
  const url = newUrl(deps, webhook_id)
  const { secret, minted } = secretFor(source_type, given)
  await replaceUrl(trx, { webhook_id, ...url }, now_ms, until_ms)
  // A provider that issues secrets need not issue another for another URL, so without a new one
  // the old one stays; only an immediate rotation says that it must go.
  const keep = secret === undefined && until_ms > now_ms
  if (!keep) {
    const sealed =
      secret === undefined
        ? undefined
        : deps.sealer.seal(secret, { id: webhook_id, purpose: 'signing_secret' })
    await replaceSecret(trx, webhook_id, sealed, now_ms, until_ms)
  }
  await addToOutbox(trx, { subject: WEBHOOK_CHANGED, key: webhook_id, payload: { webhook_id } })
  const warning = keep
    ? `The secret is unchanged. If ${source_type} issues another one for the new URL, give it to set_webhook_secret.`
    : missingSecretWarning(source_type)
  return {
    webhook_id,
    ingest_url: url.ingest_url,
    source_type,
    target_queue,
    trust_mode,
    ...(minted === undefined ? {} : { signing_secret: minted }),
    ...(trust_mode === 'signed' && secret === undefined ? { warning } : {}),
  }
}
