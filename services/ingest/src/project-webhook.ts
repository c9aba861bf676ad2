import { sha256Hex, WebhookConfig } from '@guildhall/contracts'
import type { Deps } from './deps.ts'
import { type ProjectedWebhook, readProjection } from './store/projection.ts'

/**
 * Copies webhooks from the database, where they are decided, to the bucket from which deliveries
 * are served. A copy is made from what the database says at that moment, never from what it said
 * when the change was made, and only a higher version replaces one: however late or often a copy
 * runs, and on how many replicas, the bucket ends up with the newest.
 */

export const WEBHOOK_CHANGED = 'webhook-changed'

const CAS_TRIES = 8

const millis = (time: string | null): number | null => (time === null ? null : Date.parse(time))

/** One record for each URL, by the hash of its token. */
export const recordsOf = (webhook: ProjectedWebhook): Map<string, WebhookConfig> => {
  const { version, webhook_id, owner_id, endpoint_id, source_type, target_queue } = webhook
  const secrets = webhook.secrets.map(({ sealed, until }) => ({ sealed, until: millis(until) }))
  const shared = { v: 1, version, webhook_id, owner_id, endpoint_id, source_type, target_queue }
  return new Map(
    webhook.urls.map(({ token_hash, until }) => [
      token_hash,
      WebhookConfig.parse({
        ...shared,
        secrets,
        until: millis(until),
        deleted: webhook.deleted_at !== null,
      }),
    ]),
  )
}

const writeRecord = async (
  { webhooks, webhookMirror }: Deps,
  key: string,
  record: WebhookConfig,
): Promise<void> => {
  for (let tried = 0; tried < CAS_TRIES; tried += 1) {
    const known = await webhooks.get(key)
    if (known !== undefined && known.value.version >= record.version) return
    const revision =
      known === undefined
        ? await webhooks.create(key, record)
        : await webhooks.update(key, record, known.revision)
    if (revision !== undefined) {
      // This replica need not wait for its own watch; a newer copy that it has seen stays.
      const mirrored = webhookMirror.get(key)
      if (mirrored === undefined || mirrored.version < record.version) {
        webhookMirror.set(key, record)
      }
      return
    }
  }
  throw new Error('a webhook could not be copied: its record keeps changing')
}

export const writeProjection = async (deps: Deps, webhook: ProjectedWebhook): Promise<void> => {
  for (const [key, record] of recordsOf(webhook)) await writeRecord(deps, key, record)
}

export const projectWebhook = async (deps: Deps, webhook_id: string): Promise<void> => {
  const webhook = await readProjection(deps.db, webhook_id, deps.clock.now())
  if (webhook !== undefined) await writeProjection(deps, webhook)
}

/**
 * Publishes the change that was just committed, so that its URL works when the caller has it. If
 * that fails the change stands, and the relay goes on trying.
 */
export const publishChanges = async ({ relay, log }: Deps): Promise<void> => {
  await relay.flush().catch((err: unknown) => log.warn({ err }, 'webhook change is copied later'))
}

export const tokenHash = (token: string): string => sha256Hex(token)
