import { type EvidenceEarned, evidenceOutcomes, ServiceError } from '@guildhall/contracts'
import { type Trx, transaction } from '@guildhall/db'
import type { Deps } from './deps.ts'
import { readScores, rescored } from './domain-scores.ts'
import { REF_MAX_CHARS } from './limits.ts'
import { evidenceCounter, quarantinesCounter } from './metrics.ts'
import { findQuarantine, quarantine } from './quarantine.ts'
import { addEvidence, isNegative } from './score.ts'
import { appendEvidence, type NewEvidence } from './store/evidence.ts'
import { lockOwner } from './store/owner-lock.ts'
import { saveScores } from './store/scores.ts'

/** All rows weigh the same today; the ledger could tell them apart. */
const WEIGHT = 1

const KEY_TEXT = /^[A-Za-z0-9_.:-]{1,128}$/

const refuse = (what: string): never => {
  throw new ServiceError('invalid_argument', `evidence: ${what}`)
}

const toRow = (event_id: string, event: EvidenceEarned, now_ms: number): NewEvidence => {
  const { kind, domain, config_hash, ref, user_id, agent_id, at } = event
  if (!KEY_TEXT.test(domain)) refuse('the domain cannot be one')
  if (!KEY_TEXT.test(config_hash)) refuse('the configuration hash cannot be one')
  return {
    event_id,
    user_id,
    agent_id,
    config_hash,
    domain,
    kind,
    outcome: kind === 'seed' ? refuse('a seed is no outcome') : evidenceOutcomes[kind],
    weight: WEIGHT,
    // NUL has no place in the database, and a row no need of half a page.
    ref: ref.replaceAll('\u0000', '').slice(0, REF_MAX_CHARS),
    // A writer whose clock runs ahead must not make all that came before look old.
    at: new Date(Math.min(at, now_ms)),
  }
}

/** Undefined when it was taken in before; else how many agents it brought into quarantine. */
const append = async (trx: Trx, row: NewEvidence, now_ms: number): Promise<number | undefined> => {
  await lockOwner(trx, row.user_id)
  if (!(await appendEvidence(trx, row))) return undefined
  const { of } = await readScores(trx, row)
  const before = of(row.domain)
  const sums = addEvidence(before.sums, { ...row, at_ms: row.at.getTime() })
  const after = {
    ...rescored(before, { sums }),
    evidence_count: before.evidence_count + 1,
  }
  await saveScores(trx, [after])
  const finding = findQuarantine([after], now_ms)
  if (finding === undefined) return 0
  return await quarantine(trx, finding, { now_ms, negative: isNegative(row.outcome) })
}

/**
 * Takes one event into the ledger: row, score and, if it comes to that, quarantine in one
 * transaction. The event's id is unique in the ledger, so what is delivered twice counts once.
 */
export const earn = async (
  deps: Pick<Deps, 'db' | 'clock'>,
  event_id: string,
  event: EvidenceEarned,
): Promise<boolean> => {
  const now_ms = deps.clock.now()
  const row = toRow(event_id, event, now_ms)
  const quarantined = await transaction(deps.db, (trx) => append(trx, row, now_ms))
  if (quarantined === undefined) return false
  evidenceCounter.inc({ kind: row.kind })
  quarantinesCounter.inc(quarantined)
  return true
}
