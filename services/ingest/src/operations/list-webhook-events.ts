import type { Handler } from '@guildhall/bus'
import {
  type InputOf,
  type listWebhookEvents,
  ServiceError,
  SourceType,
  Timestamp,
  type WebhookEventRow,
} from '@guildhall/contracts'
import { query } from '@guildhall/db'
import { z } from 'zod'
import { scopeOf } from '../caller.ts'
import type { Deps } from '../deps.ts'
import { type EventFilter, type EventRow, readEvents } from '../store/events.ts'

/**
 * Pages are keysets: a cursor is the place of the last row shown, (received_at, id), which no row
 * ever leaves. So whatever is inserted meanwhile, a row that was there at the first page is shown
 * exactly once. A delivery that reaches the history late takes the place of its own time: below the
 * cursor it is shown, above it belongs to the next listing.
 */

const Cursor = z.tuple([z.int().min(0), z.int().positive()])
const CURSOR_FORM = /^[A-Za-z0-9_-]+$/

const writeCursor = ({ received_at, id }: EventRow): string =>
  Buffer.from(JSON.stringify([Date.parse(received_at), id])).toString('base64url')

const readCursor = (text: string): EventFilter['after'] => {
  try {
    if (!CURSOR_FORM.test(text)) throw new Error('not base64url')
    const [received_at_ms, id] = Cursor.parse(
      JSON.parse(Buffer.from(text, 'base64url').toString('utf8')),
    )
    new Date(received_at_ms).toISOString() // throws beyond the range of dates
    return { received_at_ms, id }
  } catch (cause) {
    throw new ServiceError('invalid_argument', 'cursor: is not one that this tool gave', { cause })
  }
}

const OffsetTimestamp = z.iso.datetime({ offset: true })

const readSince = (text: string): EventFilter['since'] => {
  const id = /^[0-9]{1,15}$/.test(text) ? Number(text) : undefined
  if (id !== undefined) return { id }
  if (Timestamp.safeParse(text).success || OffsetTimestamp.safeParse(text).success) {
    return { received_at_ms: Date.parse(text) }
  }
  throw new ServiceError('invalid_argument', 'since: give an RFC 3339 time or an event id')
}

const readFilter = (input: InputOf<typeof listWebhookEvents>): EventFilter => {
  const { provider, event_type, since, cursor, limit } = input
  if (provider !== undefined && !SourceType.safeParse(provider).success) {
    throw new ServiceError('invalid_argument', `provider: one of ${SourceType.options.join(', ')}`)
  }
  if (event_type?.includes('\0') === true) {
    throw new ServiceError('invalid_argument', 'event_type: holds a NUL')
  }
  return {
    provider,
    event_type,
    since: since === undefined ? undefined : readSince(since),
    after: cursor === undefined ? undefined : readCursor(cursor),
    limit: limit + 1,
  }
}

const shown = ({ event_type, ...row }: EventRow): WebhookEventRow => ({
  ...row,
  ...(event_type === null ? {} : { event_type }),
})

export const listWebhookEventsHandler =
  (deps: Deps): Handler<typeof listWebhookEvents> =>
  async (ctx, input) => {
    const filter = readFilter(input)
    const rows = await query(() => readEvents(deps.db, scopeOf(ctx.principal), filter))
    const page = rows.slice(0, input.limit)
    const last = page.at(-1)
    return {
      events: page.map(shown),
      // One row more than asked for was read: only then is there a next page.
      ...(rows.length > page.length && last !== undefined
        ? { next_cursor: writeCursor(last) }
        : {}),
    }
  }
