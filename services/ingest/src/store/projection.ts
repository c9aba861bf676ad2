import type { SealedValue } from '@guildhall/contracts'
import type { Db } from '@guildhall/db'
import type { Webhook } from './webhooks.ts'

/** What the bucket has to say about webhooks, and what it may forget. */

interface Timed {
  readonly until: string | null
}

export interface ProjectedWebhook extends Webhook {
  readonly urls: readonly (Timed & { readonly token_hash: string })[]
  readonly secrets: readonly (Timed & { readonly sealed: SealedValue })[]
}

/** Secrets that are tried at each delivery, newest first. */
const SECRETS_ACCEPTED = 4

const SELECT = `
  select w.*,
    coalesce((select json_agg(json_build_object('token_hash', u.token_hash, 'until', u.until))
      from webhook_urls u where u.webhook_id = w.webhook_id), '[]') as urls,
    coalesce((select json_agg(json_build_object('until', s.until, 'sealed',
        json_build_object('key_id', s.key_id, 'data', s.data)) order by s.id desc)
      from (select * from webhook_secrets
            where webhook_id = w.webhook_id and (until is null or until > :now::timestamptz)
            order by id desc limit ${SECRETS_ACCEPTED}) s), '[]') as secrets
  from webhooks w`

export const readProjection = async (
  db: Db,
  webhook_id: string,
  now_ms: number,
): Promise<ProjectedWebhook | undefined> => {
  const now = new Date(now_ms).toISOString()
  const { rows } = await db.raw(`${SELECT} where w.webhook_id = :webhook_id`, { now, webhook_id })
  return rows[0]
}

/** A page of all webhooks that have a URL, by id. */
export const readProjections = async (
  db: Db,
  after: string,
  limit: number,
  now_ms: number,
): Promise<ProjectedWebhook[]> => {
  const now = new Date(now_ms).toISOString()
  const { rows } = await db.raw(
    `${SELECT} where w.webhook_id > :after
       and exists (select from webhook_urls u where u.webhook_id = w.webhook_id)
     order by w.webhook_id limit :limit`,
    { now, after, limit },
  )
  return rows
}

/** URLs that stopped answering before a time, by expiry or with their webhook. */
export const endedUrls = async (db: Db, before_ms: number, limit: number): Promise<string[]> => {
  const before = new Date(before_ms).toISOString()
  const { rows } = await db.raw(
    `select u.token_hash from webhook_urls u join webhooks w using (webhook_id)
     where u.until < :before::timestamptz or w.deleted_at < :before::timestamptz limit :limit`,
    { before, limit },
  )
  return rows.map((row: { token_hash: string }) => row.token_hash)
}

export const forgetUrls = async (db: Db, token_hashes: readonly string[]): Promise<void> => {
  await db('webhook_urls').whereIn('token_hash', token_hashes).delete()
}

export const forgetEndedSecrets = async (db: Db, before_ms: number): Promise<void> => {
  const before = new Date(before_ms).toISOString()
  await db.raw(
    `delete from webhook_secrets s using webhooks w where w.webhook_id = s.webhook_id
     and (s.until < :before::timestamptz or w.deleted_at < :before::timestamptz)`,
    { before },
  )
}

/** Deleted webhooks of which nothing is left but the row. */
export const forgetWebhooks = async (db: Db, before_ms: number, limit: number): Promise<number> => {
  const result = await db.raw(
    `delete from webhooks where webhook_id in (
       select w.webhook_id from webhooks w where w.deleted_at < :before::timestamptz
         and not exists (select from webhook_urls u where u.webhook_id = w.webhook_id)
         and not exists (select from webhook_secrets s where s.webhook_id = w.webhook_id)
       limit :limit)`,
    { before: new Date(before_ms).toISOString(), limit },
  )
  return result.rowCount
}
