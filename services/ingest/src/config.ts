import { type Network, parseNetwork, serviceConfigShape } from '@guildhall/runtime'
import { z } from 'zod'
import { type KeyRing, parseKeyRing } from './sealing.ts'

/** Turns a parser that throws into a check that names its setting. */
const parsedBy = <T>(parse: (text: string) => T) =>
  z.string().transform((text, ctx): T => {
    try {
      return parse(text)
    } catch (error) {
      ctx.addIssue({ code: 'custom', message: error instanceof Error ? error.message : 'unusable' })
      return z.NEVER
    }
  })

const cidrList = (text: string): readonly Network[] =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
    .map((entry) => {
      try {
        return parseNetwork(entry)
      } catch {
        throw new Error(`"${entry}" is no address and no CIDR`)
      }
    })

const perSecond = z.coerce.number().positive().max(100_000)
const burst = z.coerce.number().int().min(1).max(1_000_000)

export const IngestConfig = z.object({
  ...serviceConfigShape,
  HTTP_PORT: z.coerce.number().int().min(0).max(65_535).default(8_081),
  /** What stands before /webhooks/w/ in the URLs that we hand out. */
  PUBLIC_INGEST_URL: z.url({ protocol: /^https?$/ }).transform((url) => url.replace(/\/+$/, '')),
  DATABASE_URL: z.string().min(1),
  /** Whose X-Forwarded-For is believed. None: the socket's address is the client. */
  TRUSTED_PROXIES: parsedBy(cidrList).prefault(''),
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
