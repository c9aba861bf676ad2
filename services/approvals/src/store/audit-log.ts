import type { AuditRow } from '@guildhall/contracts'
import { type Connection, firstRow, rowsOf } from '@guildhall/db'
import { cleanFields, storable } from '../text.ts'

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
 * In the transaction of what it tells about, so that neither is ever there without the other; at its
 * commit the row takes its place in the chain. The table refuses updates and deletes: what happened
 * is not corrected, something more happens.
 */
export const addAudit = async (db: Connection, entry: AuditEntry): Promise<void> => {
  await rowsOf(
    db,
    `insert into audit_log (at, user_id, actor, action, object, details, request_id)
     values (:at, :user_id, :actor, :action, :object, :details, :request_id)`,
    {
      ...entry,
      request_id: storable(entry.request_id),
      details: JSON.stringify(cleanFields(entry.details ?? {})),
    },
  )
}

interface AuditFilter {
  readonly user_id: number
  readonly actor: string | null
  readonly action: string | null
  readonly since: Date | null
  readonly until: Date | null
  readonly before: number | null
  readonly limit: number
}

/** Newest first, in the order of the commits. */
export const listAuditBefore = (
  db: Connection,
  filter: AuditFilter,
): Promise<(AuditRow & { readonly seq: number })[]> =>
  rowsOf(
    db,
    `select audit_id, at, actor, action, object, details, request_id, hash, seq from audit_log
     where coalesce(user_id, 0) = cast(:user_id as integer)
       ${filter.actor === null ? '' : 'and actor = :actor'}
       ${filter.action === null ? '' : 'and action = :action'}
       ${filter.since === null ? '' : 'and at >= :since'}
       ${filter.until === null ? '' : 'and at < :until'}
       ${filter.before === null ? '' : 'and seq < cast(:before as bigint)'}
     order by seq desc limit :limit`,
    { ...filter },
  )

/** Chains are walked by number: an owner's id, or 0 for what concerns nobody that is known. */
export const chainsAfter = async (
  db: Connection,
  chain: number,
  limit: number,
): Promise<number[]> => {
  const rows = await rowsOf<{ user_id: number }>(
    db,
    'select user_id from users where user_id > :chain order by user_id limit :limit',
    { chain, limit },
  )
  return rows.map(({ user_id }) => user_id)
}

interface ChainHead {
  readonly seq: number
  readonly hash: string
}

export const chainHead = (db: Connection, chain: number): Promise<ChainHead | undefined> =>
  firstRow(db, 'select seq, hash from audit_heads where chain = :chain', { chain })

interface ChainedRow extends ChainHead {
  readonly audit_id: number
  /** What is hashed after the hash before it. */
  readonly text: string
}

/** Up to the head that was read before: what is appended meanwhile is for the next walk. */
export const chainRowsAfter = (
  db: Connection,
  {
    chain,
    after,
    until,
    limit,
  }: {
    readonly chain: number
    readonly after: number
    readonly until: number
    readonly limit: number
  },
): Promise<ChainedRow[]> =>
  rowsOf(
    db,
    `select seq, hash, audit_id, cast(jsonb_build_array(
       seq, audit_id, cast(extract(epoch from at) * 1000000 as bigint),
       user_id, actor, action, object, details, request_id) as text) as text
     from audit_log
     where coalesce(user_id, 0) = :chain and seq > :after and seq <= :until
     order by seq limit :limit`,
    { chain, after, until, limit },
  )

/**
 * A committed row that the chain does not know: it has no number, or one beyond the head. The head
 * is read in the same statement, so a row that was just appended is not taken for one.
 */
export const strayRow = async (db: Connection, chain: number): Promise<number | undefined> => {
  const row = await firstRow<{ audit_id: number }>(
    db,
    `select audit_id from audit_log
     where coalesce(user_id, 0) = :chain and (seq is null or seq > coalesce(
       (select head.seq from audit_heads head where head.chain = :chain), 0))
     limit 1`,
    { chain },
  )
  return row?.audit_id
}
