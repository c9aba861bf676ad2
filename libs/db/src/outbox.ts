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

export interface OutboxEntry {
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
/** A flush ends after so many batches; the periodic run goes on from there. */
const RELAY_BATCHES_MAX = 50

interface BatchResult {
  readonly seen: number
  readonly failure: Error | undefined
}

/**
 * Rows are locked while they are published, so that replicas share the work without repeating it. A
 * row that cannot be published holds up later rows of its own key, whose order matters, and no
 * others: a revocation must not wait for somebody else's broken row.
 */
const relayBatch = async (
  db: Db,
  publish: (row: OutboxRow) => Promise<void>,
  wait: boolean,
): Promise<BatchResult> =>
  await db.transaction(async (trx) => {
    // A flush must wait for rows that another relay holds: its caller wants them published.
    const rows = (
      await trx.raw(
        `select id, event_id, subject, key, payload from outbox
         order by id limit ? for update ${wait ? '' : 'skip locked'}`,
        [RELAY_BATCH],
      )
    ).rows as OutboxRow[] // the columns of the statement above
    const sent: number[] = []
    const held = new Set<string>()
    let failure: Error | undefined
    for (const row of rows) {
      if (held.has(row.key)) continue
      try {
        await publish(row)
        sent.push(row.id)
      } catch (error) {
        held.add(row.key)
        failure ??= error instanceof Error ? error : new Error(String(error))
      }
    }
    if (sent.length > 0) await trx('outbox').whereIn('id', sent).delete()
    return { seen: rows.length, failure }
  })

export interface OutboxRelay extends Part {
  /** Publishes all rows that are there now. Throws when that did not work. */
  flush(): Promise<void>
}

export const outboxRelay = ({ db, publish, log }: RelayOptions): OutboxRelay => {
  const run = async (wait: boolean): Promise<void> => {
    try {
      for (let batch = 0; batch < RELAY_BATCHES_MAX; batch += 1) {
        const { seen, failure } = await relayBatch(db, publish, wait)
        if (failure !== undefined) throw failure
        if (seen < RELAY_BATCH) return
      }
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
