import type { Handler } from '@guildhall/bus'
import type { deleteWebhook } from '@guildhall/contracts'
import { addToOutbox, transaction } from '@guildhall/db'
import { scopeOf } from '../caller.ts'
import type { Deps } from '../deps.ts'
import { publishChanges, WEBHOOK_CHANGED } from '../project-webhook.ts'
import { changeWebhook } from '../store/webhooks.ts'

export const deleteWebhookHandler =
  (deps: Deps): Handler<typeof deleteWebhook> =>
  async (ctx, input) => {
    const scope = scopeOf(ctx.principal)
    const { webhook_id } = await transaction(deps.db, async (trx) => {
      const webhook = await changeWebhook(trx, scope, input.webhook_id, 'delete', deps.clock.now())
      const { webhook_id: id } = webhook
      await addToOutbox(trx, { subject: WEBHOOK_CHANGED, key: id, payload: { webhook_id: id } })
      return webhook
    })
    await publishChanges(deps)
    return { webhook_id, deleted: true }
  }
