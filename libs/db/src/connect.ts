import { ServiceError } from '@guildhall/contracts'
import type { Logger } from '@guildhall/runtime'
import knexModule, { type Knex } from 'knex'
import pg from 'pg'

export type Db = Knex
export type Trx = Knex.Transaction

interface DbOptions {
  readonly log: Logger
  readonly max?: number
}

const POOL_MAX = 10
const ACQUIRE_TIMEOUT_MS = 3_000
const CONNECT_TIMEOUT_MS = 2_000
const STATEMENT_TIMEOUT_MS = 10_000

/**
 * 64-bit integers arrive as numbers: all of ours (ids, counts, milliseconds) are below 2^53, and a
 * larger one must fail rather than be rounded.
 */
const INT8_OID = 20
pg.types.setTypeParser(INT8_OID, (text: string) => {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`integer beyond 2^53: ${text}`)
  return value
})

/** Times leave the database as RFC 3339 text, the form they have on the wire. */
const TIMESTAMPTZ_OID = 1184
pg.types.setTypeParser(TIMESTAMPTZ_OID, (text: string) => new Date(text).toISOString())

export const connectDb = (url: string, { log, max = POOL_MAX }: DbOptions): Db => {
  const db = knexModule.knex({
    client: 'pg',
    connection: {
      connectionString: url,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      application_name: 'guildhall',
    },
    pool: { min: 0, max },
    // By itself it prints to the console, past the log's form and redaction.
    log: {
      warn: (message: unknown) => log.warn({ detail: String(message) }, 'database client warning'),
      error: (message: unknown) => log.warn({ detail: String(message) }, 'database client error'),
      deprecate: (method: string) => log.warn({ method }, 'deprecated database call'),
      debug: () => undefined,
    },
    acquireConnectionTimeout: ACQUIRE_TIMEOUT_MS,
  })
  // A server that stops says so to idle connections; without a listener that would end the process.
  db.client.pool.on('error', (err: unknown) => log.warn({ err }, 'database pool error'))
  return db
}

/** SQLSTATE classes of a server that cannot serve now: connection, resources, shutdown. */
const UNAVAILABLE = /^(08|53|57P)/
const NETWORK_CODES = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOENT'])

/** SQLSTATE, or the code that Node gives to a failed connection. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined

const isUnavailable = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false
  const code = codeOf(error)
  if (code !== undefined && (UNAVAILABLE.test(code) || NETWORK_CODES.has(code))) return true
  return (
    error.name === 'KnexTimeoutError' ||
    /Connection terminated|timeout exceeded when trying to connect|connection timeout|not queryable/i.test(
      error.message,
    )
  )
}

/** Wraps what the database could not do; everything else passes through as it is. */
export const dbError = (error: unknown): unknown =>
  isUnavailable(error)
    ? new ServiceError('unavailable', 'the database cannot serve this right now', { cause: error })
    : error
