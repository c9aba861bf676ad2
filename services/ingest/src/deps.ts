import type { BodyStore, Bus, Kv, Mirror } from '@guildhall/bus'
import type { IdentityCredential, IdentityEndpoint, WebhookConfig } from '@guildhall/contracts'
import type { Db, OutboxRelay } from '@guildhall/db'
import type { Clock, Logger } from '@guildhall/runtime'
import type { Sealer } from './sealing.ts'

/** What the parts of this service are made from. */
export interface Deps {
  readonly bus: Bus
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly sealer: Sealer
  readonly public_url: string
  readonly bodies: BodyStore
  readonly webhooks: Kv<WebhookConfig>
  readonly webhookMirror: Mirror<WebhookConfig>
  readonly identityMirror: Mirror<IdentityEndpoint | IdentityCredential>
  readonly relay: OutboxRelay
}
