import { type SealedValue, ServiceError, type SourceType, WebhookId } from '@guildhall/contracts'
import type { Db, Trx } from '@guildhall/db'
import type { Scope } from '../caller.ts'

/** Webhooks, their URLs and their secrets. */

export interface Webhook {
  readonly webhook_id: WebhookId
  readonly owner_id: number
  readonly endpoint_id: string | null
  readonly source_type: SourceType
  readonly target_queue: string
  readonly version: number
  readonly created_at: string
  readonly rotated_at: string | null
  readonly deleted_at: string | null
}

const noSuchWebhook = (): ServiceError => new ServiceError('not_found', 'no such webhook')

const isoOf = (ms: number): string => new Date(ms).toISOString()

const ceilingLock = (scope: Scope): string =>
  `webhooks:${scope.endpoint_id ?? `human-${scope.owner_id}`}`

/**
 * Counts live webhooks against the ceiling, under a lock that lasts until the transaction ends: of
 * two creates at the boundary the second one counts the first.
 */
export const countUnderLock = async (trx: Trx, scope: Scope): Promise<number> => {
  await trx.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [ceilingLock(scope)])
  return await countWebhooks(trx, scope)
}

export const countWebhooks = async (db: Db | Trx, scope: Scope): Promise<number> => {
  const { rows } = await db.raw(
    `select count(*) as used from webhooks
     where owner_id = ? and endpoint_id is not distinct from ? and deleted_at is null`,
    [scope.owner_id, scope.endpoint_id],
  )
  return Number(rows[0].used)
}

type NewWebhook = Pick<
  Webhook,
  'webhook_id' | 'owner_id' | 'endpoint_id' | 'source_type' | 'target_queue'
>

export const insertWebhook = async (trx: Trx, webhook: NewWebhook, now_ms: number) => {
  await trx('webhooks').insert({ ...webhook, created_at: isoOf(now_ms) })
}

/** What only the caller's own live webhook passes; foreign, deleted and unknown are one. */
const ownWebhook = (scope: Scope, webhook_id: string) => {
  if (!WebhookId.safeParse(webhook_id).success) throw noSuchWebhook()
  return {
    sql: `webhook_id = ? and owner_id = ? and deleted_at is null
          and (?::text is null or endpoint_id = ?)`,
    values: [webhook_id, scope.owner_id, scope.endpoint_id, scope.endpoint_id],
  }
}

type Change = 'rotate' | 'set_secret' | 'delete'

const changes: Readonly<Record<Change, string>> = {
  rotate: ', rotated_at = ?',
  set_secret: '',
  delete: ', deleted_at = ?',
}

/** Marks the change and locks the row; the version orders what the bucket is told. */
export const changeWebhook = async (
  trx: Trx,
  scope: Scope,
  webhook_id: string,
  change: Change,
  now_ms: number,
): Promise<Webhook> => {
  const own = ownWebhook(scope, webhook_id)
  const { rows } = await trx.raw(
    `update webhooks set version = version + 1${changes[change]} where ${own.sql} returning *`,
    [...(change === 'set_secret' ? [] : [isoOf(now_ms)]), ...own.values],
  )
  if (rows.length === 0) throw noSuchWebhook()
  return rows[0]
}

export interface WebhookListing extends Webhook {
  readonly url: SealedValue
  readonly secret_set: boolean
}

interface Page {
  /** The last webhook of the page before. One that the caller does not own begins no page. */
  readonly after: WebhookId | null
  readonly limit: number
}

/** Newest first. */
export const listWebhooks = async (
  db: Db,
  scope: Scope,
  { after, limit }: Page,
  now_ms: number,
): Promise<WebhookListing[]> => {
  const { rows } = await db.raw(
    `select w.*, json_build_object('key_id', u.key_id, 'data', u.data) as url,
       exists (select from webhook_secrets s where s.webhook_id = w.webhook_id
               and (s.until is null or s.until > ?)) as secret_set
     from webhooks w join webhook_urls u on u.webhook_id = w.webhook_id and u.until is null
     where w.owner_id = ? and w.deleted_at is null and (?::text is null or w.endpoint_id = ?)
       and (?::text is null or (w.created_at, w.webhook_id) < (
         select created_at, webhook_id from webhooks where owner_id = ? and webhook_id = ?))
     order by w.created_at desc, w.webhook_id desc limit ?`,
    [
      ...[isoOf(now_ms), scope.owner_id, scope.endpoint_id, scope.endpoint_id],
      ...[after, scope.owner_id, after, limit],
    ],
  )
  return rows
}

/** During an overlap so many old URLs still answer; a loop of rotations must not pile them up. */
const URLS_KEPT = 8

interface NewUrl {
  readonly webhook_id: string
  readonly token_hash: string
  readonly sealed: SealedValue
}

/** Makes a URL the current one. The former ones answer until `former_until_ms`. */
export const replaceUrl = async (
  trx: Trx,
  { webhook_id, token_hash, sealed }: NewUrl,
  now_ms: number,
  former_until_ms: number,
): Promise<void> => {
  await trx.raw(
    `update webhook_urls set until = least(until, ?::timestamptz)
     where webhook_id = ? and (until is null or until > ?)`,
    [isoOf(former_until_ms), webhook_id, isoOf(now_ms)],
  )
  await trx('webhook_urls').insert({ token_hash, webhook_id, ...sealed, created_at: isoOf(now_ms) })
  await trx.raw(
    `update webhook_urls set until = ?::timestamptz
     where webhook_id = ? and until > ?::timestamptz and token_hash not in (
       select token_hash from webhook_urls where webhook_id = ?
       order by until desc nulls first, created_at desc limit ?)`,
    [isoOf(now_ms), webhook_id, isoOf(now_ms), webhook_id, URLS_KEPT],
  )
}

/** Makes a secret the current one, or (undefined) leaves none. The former end as with URLs. */
export const replaceSecret = async (
  trx: Trx,
  webhook_id: string,
  sealed: SealedValue | undefined,
  now_ms: number,
  former_until_ms: number,
): Promise<void> => {
  await trx.raw(
    `update webhook_secrets set until = least(until, ?::timestamptz)
     where webhook_id = ? and (until is null or until > ?)`,
    [isoOf(former_until_ms), webhook_id, isoOf(now_ms)],
  )
  if (sealed === undefined) return
  await trx('webhook_secrets').insert({ webhook_id, ...sealed, created_at: isoOf(now_ms) })
}
