import type { Migrations } from '@guildhall/db'
import * as createWebhooks from './0001-create-webhooks.ts'
import * as createWebhookEvents from './0002-create-webhook-events.ts'

export const migrations: Migrations = {
  '0001-create-webhooks': createWebhooks,
  '0002-create-webhook-events': createWebhookEvents,
}
