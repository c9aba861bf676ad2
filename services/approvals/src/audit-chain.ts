import { sha256Hex } from '@guildhall/contracts'
import type { Db } from '@guildhall/db'
import { AUDIT_VERIFY_PAGE } from './limits.ts'
import { chainHead, chainRowsAfter, chainsAfter, strayRow } from './store/audit-log.ts'

/**
 * Walks the audit chains and computes every hash again, outside the database that made them. Who
 * rewrites a chain from some row to its end leaves it whole: against that, keep the newest hash of
 * a chain somewhere else, and compare.
 */

const BEFORE_THE_FIRST = '0'.repeat(64)
/** The chain of what concerns nobody that is known: a login under a wrong name. */
const NOBODY = 0

interface BrokenRow {
  /** Owner whose chain it is; 0: of nobody that is known. */
  readonly chain: number
  readonly seq: number
  /** Null: the row itself is gone. */
  readonly audit_id: number | null
  readonly problem: string
}

interface Verified {
  readonly chains: number
  readonly rows: number
  /** The first one that is not as it was written; null: all is well. */
  readonly broken: BrokenRow | null
}

interface Walked {
  readonly rows: number
  readonly broken: BrokenRow | null
}

const walkChain = async (db: Db, chain: number, page: number): Promise<Walked> => {
  const head = (await chainHead(db, chain)) ?? { seq: 0, hash: BEFORE_THE_FIRST }
  let previous = { seq: 0, hash: BEFORE_THE_FIRST }
  const broken = (seq: number, audit_id: number | null, problem: string): Walked => ({
    rows: previous.seq,
    broken: { chain, seq, audit_id, problem },
  })
  for (;;) {
    const range = { chain, after: previous.seq, until: head.seq, limit: page }
    const rows = await chainRowsAfter(db, range)
    for (const { seq, hash, audit_id, text } of rows) {
      if (seq !== previous.seq + 1) return broken(previous.seq + 1, null, 'the row is missing')
      if (hash !== sha256Hex(previous.hash + text)) {
        return broken(seq, audit_id, 'the row is not what was written after the one before it')
      }
      previous = { seq, hash }
    }
    if (rows.length < page) break
  }
  if (previous.seq < head.seq) return broken(previous.seq + 1, null, 'the row is missing')
  if (previous.hash !== head.hash) return broken(head.seq, null, 'the chain ends in another hash')
  const stray = await strayRow(db, chain)
  if (stray !== undefined) return broken(head.seq + 1, stray, 'the row never joined the chain')
  return { rows: previous.seq, broken: null }
}

export const verifyAudit = async (db: Db, page: number = AUDIT_VERIFY_PAGE): Promise<Verified> => {
  let chains = 0
  let rows = 0
  for (let some = [NOBODY]; some.length > 0; ) {
    for (const chain of some) {
      const walked = await walkChain(db, chain, page)
      chains += 1
      rows += walked.rows
      if (walked.broken !== null) return { chains, rows, broken: walked.broken }
    }
    some = await chainsAfter(db, some.at(-1) ?? NOBODY, page)
  }
  return { chains, rows, broken: null }
}
