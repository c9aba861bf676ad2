import { type Bus, createKv, mirrorKv, openBodyStore, serveOperations } from '@guildhall/bus'
import { buckets, IdentityCredential, IdentityEndpoint, WebhookConfig } from '@guildhall/contracts'
import { type Db, outboxRelay } from '@guildhall/db'
import { type Clock, type Logger, type Part, RateLimiter } from '@guildhall/runtime'
import { z } from 'zod'
import type { IngestConfig } from './config.ts'
import { keepHistory } from './consumers/keep-history.ts'
import type { Deps } from './deps.ts'
import { ingestServer } from './http/ingest-server.ts'
import { bodyBudget } from './http/read-body.ts'
import { operationsOf } from './operations/index.ts'
import { projectWebhook } from './project-webhook.ts'
import { forgetOld } from './reconcilers/forget-old.ts'
import { projectWebhooks } from './reconcilers/project-webhooks.ts'
import { createSealer } from './sealing.ts'

interface Foundation {
  readonly bus: Bus
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
}

const Changed = z.object({ webhook_id: z.string() })
const IdentityRecord = z.union([IdentityEndpoint, IdentityCredential])

/** The whole service, as parts in the order in which they start. */
export const composeIngest = (config: IngestConfig, { bus, db, clock, log }: Foundation) => {
  const relay = outboxRelay({
    db,
    log,
    clock,
    publish: (row) => projectWebhook(deps, Changed.parse(row.payload).webhook_id),
  })
  const deps: Deps = {
    bus,
    db,
    clock,
    log,
    relay,
    sealer: createSealer(config.SECRETS_MASTER_KEYS),
    public_url: config.PUBLIC_INGEST_URL,
    bodies: openBodyStore(bus),
    webhooks: createKv(bus, buckets.webhooks, WebhookConfig),
    webhookMirror: mirrorKv(bus, buckets.webhooks, WebhookConfig, { log }),
    identityMirror: mirrorKv(bus, buckets.identity, IdentityRecord, { log }),
  }
  const server = ingestServer({
    host: config.HTTP_HOST,
    port: config.HTTP_PORT,
    budget: bodyBudget(config.BODY_BUFFER_MAX_BYTES),
    trusted_proxies: config.TRUSTED_PROXIES,
    drain_delay_ms: config.DRAIN_DELAY_MS,
    deps: {
      ...deps,
      limiter: new RateLimiter(),
      webhook_rate: {
        per_second: config.WEBHOOK_RATE_PER_SECOND,
        burst: config.WEBHOOK_RATE_BURST,
      },
      client_rate: {
        per_second: config.CLIENT_RATE_PER_SECOND,
        burst: config.CLIENT_RATE_BURST,
      },
    },
  })
  const parts: Part[] = [
    deps.identityMirror,
    deps.webhookMirror,
    relay,
    projectWebhooks(deps),
    forgetOld(deps),
    keepHistory(deps),
    serveOperations(bus, operationsOf(deps), { log }),
    server,
  ]
  // Not the database: deliveries are accepted without it.
  const ready = async (): Promise<Record<string, boolean>> => ({
    bus: bus.connected(),
    webhooks: deps.webhookMirror.ready(),
    identity: deps.identityMirror.ready(),
    accepting: server.accepting(),
  })
  return { deps, parts, ready, app: server.app }
}
