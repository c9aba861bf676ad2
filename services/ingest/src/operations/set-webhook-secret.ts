import type { Handler } from '@guildhall/bus'
import { type setWebhookSecret, WEBHOOK_ROTATION_OVERLAP_SECONDS } from '@guildhall/contracts'
import { addToOutbox, transaction } from '@guildhall/db'
import { scopeOf } from '../caller.ts'
import type { Deps } from '../deps.ts'
import { publishChanges, WEBHOOK_CHANGED } from '../project-webhook.ts'
import { changeWebhook, replaceSecret } from '../store/webhooks.ts'
import { checkedSecret } from '../webhook-credentials.ts'

/** Takes the secret that a provider issued. Setting the same one again does no harm. */
export const setWebhookSecretHandler =
  (deps: Deps): Handler<typeof setWebhookSecret> =>
  async (ctx, { webhook_id: asked, signing_secret, immediate }) => {
    const scope = scopeOf(ctx.principal)
    const now_ms = deps.clock.now()
    const until_ms = now_ms + (immediate ? 0 : WEBHOOK_ROTATION_OVERLAP_SECONDS * 1_000)
    const webhook_id = await transaction(deps.db, async (trx) => {
      const webhook = await changeWebhook(trx, scope, asked, 'set_secret', now_ms)
      const { webhook_id: id, source_type } = webhook
      const secret = checkedSecret(source_type, signing_secret) ?? signing_secret
      const sealed = deps.sealer.seal(secret, { id, purpose: 'signing_secret' })
      await replaceSecret(trx, id, sealed, now_ms, until_ms)
      await addToOutbox(trx, { subject: WEBHOOK_CHANGED, key: id, payload: { webhook_id: id } })
      return id
    })
    await publishChanges(deps)
    return { webhook_id, secret_set: true }
  }
