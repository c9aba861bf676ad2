import { randomUUID } from 'node:crypto'
import { type Clock, interval, type Logger, type Part } from '@guildhall/runtime'
import { type Db, dbError, type Trx } from './connect.ts'

/**
 * Transactional outbox: what a change tells the world is a row of the same transaction, so neither
 * can exist without the other. One relay publishes rows in order and deletes them; a crash between
 * the two publishes again, which the message id (or the version in the value) makes harmless.
 */

export interface OutboxRow {
  readonly id: number
  readonly event_id: string
  readonly subject: string
  readonly key: string
  readonly payload: unknown
}

export const outboxMigration = async (trx: Trx): Promise<void> => {
  await trx.raw(`
    create table outbox (
      id bigint generated always as identity primary key,
      event_id text not null constraint outbox_event_id_unique unique,
      subject text not null,
      key text not null,
      payload jsonb not null,
      created_at timestamptz not null default now()
    )`)
}

interface OutboxEntry {
  readonly subject: string
  /** What the row is about; for the relay's publisher and for people who look. */
  readonly key: string
  readonly payload: object
  readonly event_id?: string
}

export const addToOutbox = (trx: Trx, entry: OutboxEntry): Promise<void> =>
  addAllToOutbox(trx, [entry])

/** Statements of so many rows stay far below what one may bind. */
const INSERT_BATCH = 500

/** In the order given, which is the order in which they leave. */
export const addAllToOutbox = async (trx: Trx, entries: readonly OutboxEntry[]): Promise<void> => {
  for (let start = 0; start < entries.length; start += INSERT_BATCH) {
    await trx('outbox').insert(
      entries.slice(start, start + INSERT_BATCH).map((entry) => ({
        event_id: entry.event_id ?? randomUUID(),
        subject: entry.subject,
        key: entry.key,
        payload: JSON.stringify(entry.payload),
      })),
    )
  }
}

interface RelayOptions {
  readonly db: Db
  /** Must be harmless when repeated. */
  readonly publish: (row: OutboxRow) => Promise<void>
  readonly log: Logger
  readonly clock?: Clock
}

const RELAY_EVERY_MS = 1_000
const RELAY_BATCH = 100
/** Different keys published side by side. */
const RELAY_AT_ONCE = 16
/** A flush ends after so many batches; the periodic run goes on from there. */
const RELAY_BATCHES_MAX = 50

interface BatchResult {
  readonly seen: number
  readonly last_id: number
  readonly failure: Error | undefined
}

const asError = (error: unknown): Error =>
  error instanceof Error ? error : new Error(String(error))

const byKey = (rows: readonly OutboxRow[]): OutboxRow[][] => {
  const groups = new Map<string, OutboxRow[]>()
  for (const row of rows) {
    const group = groups.get(row.key)
    if (group === undefined) groups.set(row.key, [row])
    else group.push(row)
  }
  return [...groups.values()]
}

/** What one run of the relay remembers from page to page. */
interface Run {
  /** Keys of which a row could not be published: later ones must wait for it. */
  readonly held: Set<string>
  readonly after_id: number
  readonly wait: boolean
}

/**
 * Rows are locked while they are published, so that replicas share the work without repeating it.
 * Rows of one key go out one after the other, different keys side by side. A row that cannot be
 * published holds up later rows of its own key, whose order matters, and no others: a revocation
 * must not wait for somebody else's broken row.
 */
const relayBatch = async (
  db: Db,
  publish: (row: OutboxRow) => Promise<void>,
  { held, after_id, wait }: Run,
): Promise<BatchResult> =>
  await db.transaction(async (trx) => {
    // A flush must wait for rows that another relay holds: its caller wants them published.
    const rows = (
      await trx.raw(
        `select id, event_id, subject, key, payload from outbox where id > ?
         order by id limit ? for update ${wait ? '' : 'skip locked'}`,
        [after_id, RELAY_BATCH],
      )
    ).rows as OutboxRow[] // the columns of the statement above
    const sent: number[] = []
    let failure: Error | undefined
    const groups = byKey(rows.filter(({ key }) => !held.has(key)))
    const relay = async (): Promise<void> => {
      for (let group = groups.shift(); group !== undefined; group = groups.shift()) {
        for (const row of group) {
          try {
            await publish(row)
            sent.push(row.id)
          } catch (error) {
            held.add(row.key)
            failure ??= asError(error)
            break
          }
        }
      }
    }
    await Promise.all(Array.from({ length: RELAY_AT_ONCE }, relay))
    if (sent.length > 0) await trx('outbox').whereIn('id', sent).delete()
    return { seen: rows.length, last_id: rows.at(-1)?.id ?? after_id, failure }
  })

export interface OutboxRelay extends Part {
  /** Publishes all rows that are there now. Throws when that did not work. */
  flush(): Promise<void>
}

export const outboxRelay = ({ db, publish, log }: RelayOptions): OutboxRelay => {
  const run = async (wait: boolean): Promise<void> => {
    try {
      const held = new Set<string>()
      let after_id = 0
      let first_failure: Error | undefined
      for (let batch = 0; batch < RELAY_BATCHES_MAX; batch += 1) {
        const { seen, last_id, failure } = await relayBatch(db, publish, { held, after_id, wait })
        first_failure ??= failure
        after_id = last_id
        if (seen < RELAY_BATCH) break
      }
      if (first_failure !== undefined) throw first_failure
    } catch (error) {
      throw dbError(error)
    }
  }
  const timer = interval({
    name: 'outbox-relay',
    every_ms: RELAY_EVERY_MS,
    log,
    run: () => run(false),
  })
  return { name: timer.name, start: timer.start, stop: timer.stop, flush: () => run(true) }
}
