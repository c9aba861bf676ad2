import { z } from 'zod'
import { type Network, parseNetwork } from './client-address.ts'

/** Settings that every service has. A service adds its own to this shape. */
export const serviceConfigShape = {
  NODE_ENV: z.enum(['development', 'test', 'production']).default('production'),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  NATS_URL: z.string().default('nats://127.0.0.1:4222'),
  NATS_USER: z.string().optional(),
  NATS_PASSWORD: z.string().optional(),
  HTTP_HOST: z.string().default('127.0.0.1'),
  /** Health, readiness and metrics; 0 for none. */
  OPS_PORT: z.coerce.number().int().min(0).max(65_535).default(0),
  /** A file with a number of milliseconds, added to the clock. Ignored in production. */
  CLOCK_OFFSET_FILE: z.string().optional(),
}

/** What a one-shot program needs that works on a service's database alone. */
export const DatabaseConfig = z.object({
  LOG_LEVEL: serviceConfigShape.LOG_LEVEL,
  DATABASE_URL: z.string().min(1),
})

/** Turns a parser that throws into a check that names its setting. */
export const parsedBy = <T>(parse: (text: string) => T) =>
  z.string().transform((text, ctx): T => {
    try {
      return parse(text)
    } catch (error) {
      ctx.addIssue({ code: 'custom', message: error instanceof Error ? error.message : 'unusable' })
      return z.NEVER
    }
  })

/** What stands between commas, without blanks. */
export const commaList = (text: string): readonly string[] =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')

/** Addresses and CIDRs, between commas. */
export const networkList = (text: string): readonly Network[] =>
  commaList(text).map((entry) => {
    try {
      return parseNetwork(entry)
    } catch {
      throw new Error(`"${entry}" is no address and no CIDR`)
    }
  })

export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** Parses the environment once; a bad one is reported with all its faults, not only the first. */
export const loadConfig = <T>(
  schema: z.ZodType<T>,
  env: Readonly<Record<string, string | undefined>>,
): Readonly<T> => {
  const parsed = schema.safeParse(env)
  if (parsed.success) return Object.freeze(parsed.data)
  const faults = parsed.error.issues.map(
    (issue) => `  ${issue.path.join('.') || '(all)'}: ${issue.message}`,
  )
  throw new ConfigError(`the environment is not usable:\n${faults.join('\n')}`)
}
