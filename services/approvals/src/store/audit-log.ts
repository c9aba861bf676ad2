import { storable } from '../text.ts'
import { type Connection, rowsOf } from './rows.ts'

interface AuditEntry {
  readonly at: Date
  readonly user_id: number | null
  readonly actor: string
  readonly action: string
  readonly object: string
  /** Settings and ids; never a secret. */
  readonly details?: Readonly<Record<string, unknown>>
  readonly request_id: string
}

/**
 * In the transaction of what it tells about, so that neither is ever there without the other. The
 * table refuses updates and deletes: what happened is not corrected, something more happens.
 */
export const addAudit = async (db: Connection, entry: AuditEntry): Promise<void> => {
  await rowsOf(
    db,
    `insert into audit_log (at, user_id, actor, action, object, details, request_id)
     values (:at, :user_id, :actor, :action, :object, :details, :request_id)`,
    {
      ...entry,
      request_id: storable(entry.request_id),
      details: JSON.stringify(entry.details ?? {}),
    },
  )
}
