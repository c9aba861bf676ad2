import { query } from '@guildhall/db'
import { interval } from '@guildhall/runtime'
import type { Deps } from '../deps.ts'
import { recordsOf, writeProjection } from '../project-webhook.ts'
import { readProjections } from '../store/projection.ts'

/** Brings the bucket to what the database says: after the loss of a bucket, or of an outbox row. */

const EVERY_MS = 300_000
const PAGE = 200

export const projectAllWebhooks = async (deps: Deps): Promise<void> => {
  for (let after = ''; ; ) {
    const page = await query(() => readProjections(deps.db, after, PAGE, deps.clock.now()))
    for (const webhook of page) {
      const { version } = webhook
      const isBehind = [...recordsOf(webhook).keys()].some(
        (key) => (deps.webhookMirror.get(key)?.version ?? 0) < version,
      )
      if (isBehind) await writeProjection(deps, webhook)
    }
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return
    after = last.webhook_id
  }
}

/** Also runs at the start; that the database is down then must not keep deliveries out. */
export const projectWebhooks = (deps: Deps) => {
  const timer = interval({
    name: 'project-webhooks',
    every_ms: EVERY_MS,
    log: deps.log,
    run: () => projectAllWebhooks(deps),
  })
  return {
    ...timer,
    start: async () => {
      await timer.start()
      void timer.now()
    },
  }
}
