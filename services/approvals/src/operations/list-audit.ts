import type { Handler } from '@guildhall/bus'
import type { listAudit } from '@guildhall/contracts'
import { readIdCursor } from '../channels.ts'
import type { Deps } from '../deps.ts'
import { listAuditBefore } from '../store/audit-log.ts'
import { isStorable } from '../text.ts'

const dateOf = (timestamp: string | undefined): Date | null =>
  timestamp === undefined ? null : new Date(timestamp)

export const handleListAudit =
  ({ db }: Deps): Handler<typeof listAudit> =>
  async ({ principal: { user_id } }, { actor = null, action = null, since, until, ...page }) => {
    const { limit, cursor } = page
    const before = readIdCursor(cursor, 'list_audit')
    // No row can hold such a name, and PostgreSQL would not even compare with it.
    if (!isStorable(`${actor}${action}`)) return { entries: [] }
    const times = { since: dateOf(since), until: dateOf(until) }
    const filter = { user_id, actor, action, ...times, before, limit: limit + 1 }
    const found = await listAuditBefore(db, filter)
    const shown = found.slice(0, limit)
    const entries = shown.map(({ seq: _place, ...entry }) => entry)
    const last = shown.at(-1)
    return found.length > limit && last !== undefined
      ? { entries, next_cursor: String(last.seq) }
      : { entries }
  }
