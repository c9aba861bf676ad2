import type { Handler } from '@guildhall/bus'
import {
  type getWebhookEvent,
  INGEST_SIGNED_BODY_MAX_BYTES,
  PAYLOAD_PAGE_BYTES,
  ServiceError,
  WebhookId,
} from '@guildhall/contracts'
import { query } from '@guildhall/db'
import { scopeOf } from '../caller.ts'
import type { Deps } from '../deps.ts'
import { payloadPage } from '../payload-page.ts'
import { readEvent } from '../store/events.ts'

export const bodyGone = (): ServiceError =>
  new ServiceError('not_found', 'the body of this event is no longer kept')

const length = PAYLOAD_PAGE_BYTES

export const getWebhookEventHandler =
  (deps: Deps): Handler<typeof getWebhookEvent> =>
  async (ctx, { id, payload_offset }) => {
    // No body is longer; a larger number would only overflow on its way.
    const offset = Math.min(payload_offset, INGEST_SIGNED_BODY_MAX_BYTES)
    const event = await query(() =>
      readEvent(deps.db, scopeOf(ctx.principal), id, { offset, length }),
    )
    if (payload_offset > event.payload_size) {
      throw new ServiceError(
        'invalid_argument',
        `payload_offset: the body has ${event.payload_size} bytes`,
      )
    }
    const bytes =
      event.body_ref === null
        ? event.piece
        : (await deps.bodies.get(event.body_ref))?.subarray(offset, offset + length)
    if (bytes === undefined || bytes === null) throw bodyGone()
    return {
      id: event.id,
      provider: event.provider,
      ...(event.event_type === null ? {} : { event_type: event.event_type }),
      trust_mode: event.trust_mode,
      verified: event.verified,
      payload_size: event.payload_size,
      received_at: event.received_at,
      webhook_id: WebhookId.parse(event.webhook_id),
      todo_id: event.todo_id,
      verify_detail: event.verify_detail,
      external_id: event.external_id,
      content_type: event.content_type,
      source_ip: event.source_ip,
      headers: event.headers,
      ...payloadPage(bytes, offset, event.payload_size),
    }
  }
