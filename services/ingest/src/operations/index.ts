import { bind, type serveOperations } from '@guildhall/bus'
import {
  createWebhook,
  deleteWebhook,
  getWebhookEvent,
  listWebhookEvents,
  listWebhooks,
  replayWebhookEvent,
  rotateWebhook,
  setWebhookSecret,
} from '@guildhall/contracts'
import type { Deps } from '../deps.ts'
import { createWebhookHandler } from './create-webhook.ts'
import { deleteWebhookHandler } from './delete-webhook.ts'
import { getWebhookEventHandler } from './get-webhook-event.ts'
import { listWebhookEventsHandler } from './list-webhook-events.ts'
import { listWebhooksHandler } from './list-webhooks.ts'
import { replayWebhookEventHandler } from './replay-webhook-event.ts'
import { rotateWebhookHandler } from './rotate-webhook.ts'
import { setWebhookSecretHandler } from './set-webhook-secret.ts'

export const operationsOf = (deps: Deps): Parameters<typeof serveOperations>[1] => [
  bind(createWebhook, createWebhookHandler(deps)),
  bind(listWebhooks, listWebhooksHandler(deps)),
  bind(rotateWebhook, rotateWebhookHandler(deps)),
  bind(setWebhookSecret, setWebhookSecretHandler(deps)),
  bind(deleteWebhook, deleteWebhookHandler(deps)),
  bind(listWebhookEvents, listWebhookEventsHandler(deps)),
  bind(getWebhookEvent, getWebhookEventHandler(deps)),
  bind(replayWebhookEvent, replayWebhookEventHandler(deps)),
]
