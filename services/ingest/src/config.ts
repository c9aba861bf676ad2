import {
  type KeyRing,
  networkList,
  parsedBy,
  parseKeyRing,
  serviceConfigShape,
} from '@guildhall/runtime'
import { z } from 'zod'

const perSecond = z.coerce.number().positive().max(100_000)
const burst = z.coerce.number().int().min(1).max(1_000_000)

export const IngestConfig = z.object({
  ...serviceConfigShape,
  HTTP_PORT: z.coerce.number().int().min(0).max(65_535).default(8_081),
  /** What stands before /webhooks/w/ in the URLs that we hand out. */
  PUBLIC_INGEST_URL: z.url({ protocol: /^https?$/ }).transform((url) => url.replace(/\/+$/, '')),
  DATABASE_URL: z.string().min(1),
  /** Whose X-Forwarded-For is believed. None: the socket's address is the client. */
  TRUSTED_PROXIES: parsedBy(networkList).prefault(''),
  SECRETS_MASTER_KEYS: parsedBy<KeyRing>(parseKeyRing),
  /** Several providers do not send again what got a 429, so bursts are let through. */
  WEBHOOK_RATE_PER_SECOND: perSecond.default(50),
  WEBHOOK_RATE_BURST: burst.default(200),
  /** Above a webhook's: one address may serve many (a forge, a company's gateway). */
  CLIENT_RATE_PER_SECOND: perSecond.default(200),
  CLIENT_RATE_BURST: burst.default(800),
  /** How long /ready says no before the listener closes, for load balancers to notice. */
  DRAIN_DELAY_MS: z.coerce.number().int().min(0).max(20_000).default(0),
  /** Bytes of bodies in memory at once, over all requests. */
  BODY_BUFFER_MAX_BYTES: z.coerce.number().int().min(33_554_432).default(268_435_456),
})
export type IngestConfig = z.output<typeof IngestConfig>
