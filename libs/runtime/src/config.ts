import { z } from 'zod'

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
