import type { Handler } from '@guildhall/bus'
import {
  type listWebhooks,
  type Principal,
  ServiceError,
  SourceType,
  WebhookId,
  type WebhookRow,
} from '@guildhall/contracts'
import { query } from '@guildhall/db'
import { scopeOf } from '../caller.ts'
import type { Deps } from '../deps.ts'
import { sources } from '../sources/index.ts'
import {
  countWebhooks,
  listWebhooks as readWebhooks,
  type WebhookListing,
} from '../store/webhooks.ts'
import { urlOf } from '../webhook-credentials.ts'
import { HUMAN_WEBHOOKS_MAX } from './create-webhook.ts'

/** For a human, no queues in the ceiling means any: only an endpoint's owner narrows them. */
const ceilingOf = (principal: Principal) =>
  principal.kind === 'agent'
    ? {
        max: principal.scope.webhook_max,
        allowed_source_types: principal.scope.webhook_source_types,
        allowed_queues: principal.scope.webhook_queues,
      }
    : { max: HUMAN_WEBHOOKS_MAX, allowed_source_types: SourceType.options, allowed_queues: [] }

const rowOf = ({ sealer, public_url }: Deps, listing: WebhookListing): WebhookRow => {
  const { webhook_id, source_type, target_queue, secret_set, created_at, rotated_at } = listing
  const token = sealer.open(listing.url, { id: webhook_id, purpose: 'url_token' })
  return {
    webhook_id,
    ingest_url: urlOf(public_url, token),
    source_type,
    target_queue,
    trust_mode: sources[source_type].trust_mode,
    secret_set,
    created_at,
    ...(rotated_at === null ? {} : { rotated_at }),
    // Deliveries are not yet held back by who acted, so all are allowed and none wait.
    allow_all: true,
    quarantined: 0,
  }
}

/** The cursor is the last webhook shown. It stays a place in the list when it is deleted. */
const readCursor = (cursor: string | undefined): WebhookId | null => {
  if (cursor === undefined) return null
  const parsed = WebhookId.safeParse(cursor)
  if (parsed.success) return parsed.data
  throw new ServiceError('invalid_argument', 'cursor: not one that list_webhooks gave')
}

export const listWebhooksHandler =
  (deps: Deps): Handler<typeof listWebhooks> =>
  async (ctx, { limit, cursor }) => {
    const scope = scopeOf(ctx.principal)
    // One more than asked for tells whether there is a next page.
    const page = { after: readCursor(cursor), limit: limit + 1 }
    const [rows, used] = await query(() =>
      Promise.all([
        readWebhooks(deps.db, scope, page, deps.clock.now()),
        countWebhooks(deps.db, scope),
      ]),
    )
    const shown = rows.slice(0, limit)
    const last = shown.at(-1)
    return {
      webhooks: shown.map((row) => rowOf(deps, row)),
      ceiling: { ...ceilingOf(ctx.principal), used },
      ...(rows.length > limit && last !== undefined ? { next_cursor: last.webhook_id } : {}),
    }
  }
