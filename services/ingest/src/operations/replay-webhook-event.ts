import { randomUUID } from 'node:crypto'
import type { Handler } from '@guildhall/bus'
import {
  type DeliveryMeta,
  deriveTodoId,
  EndpointId,
  INGEST_SIGNED_BODY_MAX_BYTES,
  type replayWebhookEvent,
  WebhookId,
} from '@guildhall/contracts'
import { query } from '@guildhall/db'
import { scopeOf } from '../caller.ts'
import type { Deps } from '../deps.ts'
import { sendDelivery } from '../send-delivery.ts'
import { readEvent, type WebhookEvent } from '../store/events.ts'
import { bodyGone } from './get-webhook-event.ts'

/**
 * A replay is a new delivery of the same body, so it takes the way of every delivery. Its id follows
 * from the event and the caller's key: a repeat of the call finds the todo that the first one made.
 */

const metaOf = (
  event: WebhookEvent,
  owner_id: number,
  key: string,
  now_ms: number,
): DeliveryMeta => ({
  v: 1,
  todo_id: deriveTodoId([event.webhook_id, event.external_id, 'replay', key]),
  webhook_id: WebhookId.parse(event.webhook_id),
  owner_id,
  endpoint_id: event.endpoint_id === null ? null : EndpointId.parse(event.endpoint_id),
  source_type: event.provider,
  queue: event.queue,
  trust_mode: event.trust_mode,
  verified: event.verified,
  verify_detail: event.verify_detail,
  external_id: event.external_id,
  ...(event.event_type === null ? {} : { event_type: event.event_type }),
  title: event.title,
  content_type: event.content_type,
  headers: event.headers,
  source_ip: event.source_ip,
  payload_size: event.payload_size,
  received_at: now_ms,
  replay_of: event.id,
})

export const replayWebhookEventHandler =
  (deps: Deps): Handler<typeof replayWebhookEvent> =>
  async (ctx, input) => {
    const scope = scopeOf(ctx.principal)
    const whole = { offset: 0, length: INGEST_SIGNED_BODY_MAX_BYTES }
    const event = await query(() => readEvent(deps.db, scope, input.id, whole))
    // A stored body is copied, so that the new todo does not lose it when the old one ages out.
    const body = event.body_ref === null ? event.piece : await deps.bodies.get(event.body_ref)
    if (body === undefined || body === null) throw bodyGone()
    const key = ctx.idempotency_key ?? input.idempotency_key ?? randomUUID()
    const meta = metaOf(event, scope.owner_id, key, deps.clock.now())
    const created = await sendDelivery(deps, meta, body)
    return { id: event.id, todo_id: meta.todo_id, queue: event.queue, created }
  }
