import type { EvidenceKind } from '@guildhall/contracts'
import { type Connection, firstRow, rowsOf } from '@guildhall/db'

/** Which score something is about. */
export interface ScoreKey {
  readonly user_id: number
  readonly config_hash: string
  readonly domain: string
}

export interface NewEvidence extends ScoreKey {
  readonly event_id: string
  readonly agent_id: number
  readonly kind: EvidenceKind
  readonly outcome: number
  readonly weight: number
  readonly ref: string
  readonly at: Date
}

/** False when this event was appended before. */
export const appendEvidence = async (db: Connection, evidence: NewEvidence): Promise<boolean> => {
  const appended = await firstRow(
    db,
    `insert into evidence (event_id, user_id, agent_id, config_hash, domain, kind, outcome, weight,
       ref, at)
     values (:event_id, :user_id, :agent_id, :config_hash, :domain, :kind, :outcome, :weight,
       :ref, :at)
     on conflict (event_id) do nothing
     returning evidence_id`,
    { ...evidence },
  )
  return appended !== undefined
}

export const hasEvidenceBefore = async (
  db: Connection,
  key: { readonly user_id: number; readonly config_hash: string; readonly before: Date },
): Promise<boolean> => {
  const found = await firstRow(
    db,
    `select evidence_id from evidence
     where user_id = :user_id and config_hash = :config_hash and at < :before limit 1`,
    { ...key },
  )
  return found !== undefined
}

interface StoredEvidence {
  readonly evidence_id: number
  readonly outcome: number
  readonly weight: number
  readonly at: string
}

export const evidencePage = (
  db: Connection,
  key: ScoreKey & { readonly after: number; readonly limit: number },
): Promise<StoredEvidence[]> =>
  rowsOf(
    db,
    `select evidence_id, outcome, weight, at from evidence
     where user_id = :user_id and config_hash = :config_hash and domain = :domain
       and evidence_id > :after
     order by evidence_id limit :limit`,
    { ...key },
  )

/** Evidence and seeds that no score stands for; a few of them, to be shown. */
export const unscoredKeys = (db: Connection, limit: number): Promise<ScoreKey[]> =>
  rowsOf(
    db,
    `select user_id, config_hash, domain from (
       select user_id, config_hash, domain from evidence
       union select user_id, config_hash, domain from seeds) kept
     where not exists (
       select 1 from scores
       where scores.user_id = kept.user_id and scores.config_hash = kept.config_hash
         and scores.domain = kept.domain)
     limit :limit`,
    { limit },
  )
