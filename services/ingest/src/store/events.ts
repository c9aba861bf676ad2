import {
  type DeliveryMeta,
  ServiceError,
  type SourceType,
  type TrustMode,
} from '@guildhall/contracts'
import type { Db } from '@guildhall/db'
import type { Scope } from '../caller.ts'

/** The history of accepted deliveries. */

export interface WebhookEvent {
  readonly id: number
  readonly todo_id: string
  readonly webhook_id: string
  readonly endpoint_id: string | null
  readonly provider: SourceType
  readonly queue: string
  readonly event_type: string | null
  readonly title: string
  readonly trust_mode: TrustMode
  readonly verified: boolean
  readonly verify_detail: string
  readonly external_id: string
  readonly content_type: string
  readonly source_ip: string
  readonly headers: Record<string, string>
  readonly body_ref: string | null
  readonly payload_size: number
  readonly received_at: string
}

export type EventRow = Pick<
  WebhookEvent,
  'id' | 'provider' | 'event_type' | 'trust_mode' | 'verified' | 'payload_size' | 'received_at'
>

const noSuchEvent = (): ServiceError => new ServiceError('not_found', 'no such event')

export interface ReceivedDelivery {
  readonly meta: DeliveryMeta
  readonly endpoint_id: string | null
  readonly body: Uint8Array
}

/** A delivery that is already there is left as it is. */
export const insertEvents = async (
  db: Db,
  deliveries: readonly ReceivedDelivery[],
): Promise<void> => {
  const rows = deliveries.map(({ meta, endpoint_id, body }) => ({
    todo_id: meta.todo_id,
    webhook_id: meta.webhook_id,
    owner_id: meta.owner_id,
    endpoint_id,
    provider: meta.source_type,
    queue: meta.queue,
    event_type: meta.event_type ?? null,
    title: meta.title,
    trust_mode: meta.trust_mode,
    verified: meta.verified,
    verify_detail: meta.verify_detail,
    external_id: meta.external_id,
    content_type: meta.content_type,
    source_ip: meta.source_ip,
    headers: JSON.stringify(meta.headers),
    payload: meta.body_ref === undefined ? Buffer.from(body) : null,
    body_ref: meta.body_ref ?? null,
    payload_size: meta.payload_size,
    received_at: new Date(meta.received_at).toISOString(),
  }))
  if (rows.length > 0) await db('webhook_events').insert(rows).onConflict('todo_id').ignore()
}

const ROW = 'id, provider, event_type, trust_mode, verified, payload_size, received_at'
const ALL = `${ROW}, todo_id, webhook_id, endpoint_id, queue, title, verify_detail, external_id,
  content_type, source_ip, headers, body_ref`

/** The tenant, and for an agent its endpoint and its queues, in the statement itself. */
const visible = ({ owner_id, endpoint_id, queues }: Scope) => ({
  sql: `owner_id = :owner_id and (:endpoint_id::text is null or endpoint_id = :endpoint_id)
        and (:queues::text[] is null or queue = any(:queues))`,
  values: { owner_id, endpoint_id, queues: queues === null ? null : [...queues] },
})

export interface EventFilter {
  readonly provider?: string | undefined
  readonly event_type?: string | undefined
  readonly since?: { readonly id: number } | { readonly received_at_ms: number } | undefined
  /** The last row of the page before. */
  readonly after?: { readonly received_at_ms: number; readonly id: number } | undefined
  readonly limit: number
}

const orNull = <T>(value: T | undefined): T | null => value ?? null

/** Newest first, by when it was received and then by id: a pair that never changes. */
export const readEvents = async (
  db: Db,
  scope: Scope,
  { provider, event_type, since, after, limit }: EventFilter,
): Promise<EventRow[]> => {
  const { sql, values } = visible(scope)
  const timeOf = (ms: number): string => new Date(ms).toISOString()
  const { rows } = await db.raw(
    `select ${ROW} from webhook_events where ${sql}
       and (:provider::text is null or provider = :provider)
       and (:event_type::text is null or event_type = :event_type)
       and (:since_id::bigint is null or id >= :since_id)
       and (:since_time::timestamptz is null or received_at >= :since_time)
       and (:after_id::bigint is null or (received_at, id) < (:after_time::timestamptz, :after_id))
     order by received_at desc, id desc limit :limit`,
    {
      ...values,
      provider: orNull(provider),
      event_type: orNull(event_type),
      since_id: since !== undefined && 'id' in since ? since.id : null,
      since_time:
        since !== undefined && 'received_at_ms' in since ? timeOf(since.received_at_ms) : null,
      after_id: orNull(after?.id),
      after_time: after === undefined ? null : timeOf(after.received_at_ms),
      limit,
    },
  )
  return rows
}

/** One event with a piece of its body, cut out by the database. */
export const readEvent = async (
  db: Db,
  scope: Scope,
  id: number,
  { offset, length }: { readonly offset: number; readonly length: number },
): Promise<WebhookEvent & { readonly piece: Buffer | null }> => {
  const { sql, values } = visible(scope)
  const { rows } = await db.raw(
    `select ${ALL}, substring(payload from :from::int for :length::int) as piece
     from webhook_events where id = :id and ${sql}`,
    { ...values, id, from: offset + 1, length },
  )
  if (rows.length === 0) throw noSuchEvent()
  return rows[0]
}

/** Deletes one batch of the oldest; the number says whether there may be more. */
export const forgetEvents = async (db: Db, before_ms: number, limit: number): Promise<number> => {
  const result = await db.raw(
    `delete from webhook_events where id in (
       select id from webhook_events where received_at < ? order by received_at limit ?)`,
    [new Date(before_ms).toISOString(), limit],
  )
  return result.rowCount
}
