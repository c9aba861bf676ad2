import {
  type Attempt,
  type AttemptDisposition,
  type AttemptOutcome,
  BACKOFF_FIRST_MS,
  BACKOFF_MAX_MS,
  type EndpointId,
  PRIOR_ATTEMPTS_SHOWN,
  type WorkRecord,
} from '@guildhall/contracts'

/**
 * The state machine of a work item: pure functions from a record and the time to the next record.
 * Whether a transition happens is decided by the compare-and-set that writes its result; these only
 * say what it would be. `undefined` means that the transition is not allowed from here.
 *
 *   pending  -> claimed                     claim
 *   claimed  -> claimed                     heartbeat; takeover after the lease ended
 *   claimed  -> done | failed | pending     complete, fail, release, lapse, revoke
 *   failed   -> claimed | pending           when its retry is due; by hand at any time
 */

/** The lease is held strictly before this moment. */
export const isLeaseOver = (record: WorkRecord, now: number): boolean =>
  record.state === 'claimed' && (record.lease_until ?? 0) <= now

const isRetryDue = (record: WorkRecord, now: number): boolean =>
  record.state === 'failed' && record.next_retry_at !== undefined && record.next_retry_at <= now

const hasAttemptLeft = (record: WorkRecord): boolean => record.attempt < record.max_attempts

export const isFinished = (record: WorkRecord): boolean =>
  record.state === 'done' || (record.state === 'failed' && record.dead_letter)

/** Whether a claim made now may take the item. */
export const isClaimable = (record: WorkRecord, now: number): boolean => {
  if (record.state === 'pending') return (record.not_before ?? 0) <= now
  if (isLeaseOver(record, now)) return hasAttemptLeft(record)
  return isRetryDue(record, now)
}

/** A lapsed item whose attempts are used up: nobody may claim it, it has to be closed. */
export const isExhausted = (record: WorkRecord, now: number): boolean =>
  isLeaseOver(record, now) && !hasAttemptLeft(record)

/** When an item that is not claimable now will come up by itself; undefined: never. */
export const comesUpAt = (record: WorkRecord, now: number): number | undefined => {
  if (record.state === 'pending') return record.not_before
  if (record.state === 'claimed') return Math.max(record.lease_until ?? now, now)
  return record.next_retry_at
}

/** 30 s, doubling with each attempt, up to 15 minutes. */
const backoffMs = (attempt: number): number =>
  Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** Math.max(0, attempt - 1))

const iso = (ms: number): string => new Date(ms).toISOString()

export const openAttempt = (record: WorkRecord): Attempt | undefined => {
  const open = record.open_attempt
  if (open === undefined) return undefined
  return {
    seq: open.seq,
    attempt: record.attempt,
    claimer_kind: open.claimer_kind,
    claimant: open.claimant,
    claimed_at: iso(open.claimed_at),
    last_heartbeat_at: open.last_heartbeat_at === null ? null : iso(open.last_heartbeat_at),
    ended_at: null,
    outcome: null,
    disposition: null,
    died: false,
    summary: null,
    summary_truncated: false,
    artifact: null,
  }
}

interface Ending {
  readonly outcome: AttemptOutcome
  readonly disposition: AttemptDisposition
  readonly summary: string | null
  readonly summary_truncated: boolean
  readonly artifact: string | null
}

/**
 * The record with some keys dropped and others set, in one pass. A literal that begins with the
 * spread of a record and adds keys is built ten times as slowly, and an object from which keys were
 * deleted is slow for all who read it later: each claim would pay for both.
 */
const changed = (
  record: WorkRecord,
  changes: Partial<WorkRecord>,
  ...dropped: readonly (keyof WorkRecord)[]
): WorkRecord => {
  const copy: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(record)) {
    if (!dropped.some((name) => name === key)) copy[key] = value
  }
  return Object.assign(copy, changes) as WorkRecord // only optional keys are ever dropped below
}

/** Ends the open attempt, takes the holder off the record, and makes the other changes. */
export const closeAttempt = (
  record: WorkRecord,
  ending: Ending,
  now: number,
  changes: Partial<WorkRecord> = {},
): WorkRecord => {
  const open = openAttempt(record)
  const closed: Attempt[] =
    open === undefined
      ? []
      : [
          {
            ...open,
            ...ending,
            ended_at: iso(now),
            died: ending.outcome === 'lease_expired' || ending.outcome === 'reaped',
          },
        ]
  return changed(
    record,
    {
      prior_attempts: [...closed, ...record.prior_attempts].slice(0, PRIOR_ATTEMPTS_SHOWN),
      updated_at: now,
      ...changes,
    },
    'holder',
    'holder_endpoint_id',
    'lease_until',
    'lease_token_hash',
    'require_fence',
    'claim_key_hash',
    'last_key_hash',
    'open_attempt',
    'next_retry_at',
  )
}

const SILENT = { summary: null, summary_truncated: false, artifact: null } as const

export interface Claim {
  readonly holder: string
  readonly endpoint_id: EndpointId | undefined
  readonly claimer_kind: 'endpoint' | 'owner'
  readonly claimant: string | null
  readonly lease_ms: number
  readonly require_fence: boolean
  readonly lease_token_hash: string
  readonly claim_key_hash: string
  readonly ack_subject: string | undefined
}

/** A claim of an item whose lease has lapsed closes the old attempt in the same write. */
export const claimed = (record: WorkRecord, claim: Claim, now: number): WorkRecord | undefined => {
  if (!isClaimable(record, now)) return undefined
  const free = isLeaseOver(record, now)
    ? closeAttempt(record, { outcome: 'lease_expired', disposition: 'requeued', ...SILENT }, now)
    : record
  const seq = record.attempts_total + 1
  const changes: Partial<WorkRecord> = {
    state: 'claimed',
    attempt: record.attempt + 1,
    attempts_total: seq,
    holder: claim.holder,
    ...(claim.endpoint_id === undefined ? {} : { holder_endpoint_id: claim.endpoint_id }),
    lease_until: now + claim.lease_ms,
    lease_token_hash: claim.lease_token_hash,
    require_fence: claim.require_fence,
    claim_key_hash: claim.claim_key_hash,
    open_attempt: {
      seq,
      claimer_kind: claim.claimer_kind,
      claimant: claim.claimant,
      claimed_at: now,
      last_heartbeat_at: null,
    },
    ...(claim.ack_subject === undefined ? {} : { ack_subject: claim.ack_subject }),
    updated_at: now,
  }
  return changed(free, changes, 'next_retry_at', 'last_key_hash')
}

/**
 * For every write that leaves a claim open: its fence is the revision at which it was made, which
 * the record only knows after that write.
 */
export const keepFence = (record: WorkRecord, revision: number): WorkRecord =>
  record.open_attempt === undefined || record.open_attempt.fence !== undefined
    ? record
    : { ...record, open_attempt: { ...record.open_attempt, fence: revision } }

/** Without an explicit length a heartbeat never shortens the lease. */
export const heartbeaten = (
  record: WorkRecord,
  lease_ms: number,
  explicit: boolean,
  now: number,
): WorkRecord => {
  const until = now + lease_ms
  return {
    ...record,
    lease_until: explicit ? until : Math.max(until, record.lease_until ?? 0),
    ...(record.open_attempt === undefined
      ? {}
      : { open_attempt: { ...record.open_attempt, last_heartbeat_at: now } }),
    updated_at: now,
  }
}

export interface Report {
  readonly summary: string | null
  readonly summary_truncated: boolean
  readonly artifact: string | null
  readonly result: unknown
  readonly key_hash: string | undefined
}

const reported = (report: Report): Partial<WorkRecord> => ({
  ...(report.result === undefined ? {} : { result: report.result }),
  ...(report.key_hash === undefined ? {} : { last_key_hash: report.key_hash }),
})

const reportEnding = (report: Report) => ({
  summary: report.summary,
  summary_truncated: report.summary_truncated,
  artifact: report.artifact,
})

export const completed = (record: WorkRecord, report: Report, now: number): WorkRecord =>
  closeAttempt(
    record,
    { outcome: 'completed', disposition: 'done', ...reportEnding(report) },
    now,
    { state: 'done', ...reported(report) },
  )

const DEAD = { state: 'failed', dead_letter: true } as const

const requeued = (now: number) => ({ state: 'pending', claimable_at: now }) as const

/** Retried after a growing delay; a dead letter once the attempts are used up. */
export const failed = (record: WorkRecord, report: Report, now: number): WorkRecord => {
  const retry = hasAttemptLeft(record)
  const next_retry_at = now + backoffMs(record.attempt)
  const disposition = retry ? 'retry_scheduled' : 'dead_lettered'
  return closeAttempt(record, { outcome: 'failed', disposition, ...reportEnding(report) }, now, {
    ...(retry
      ? {
          state: 'failed',
          // The holder stays on the row of a failed item, so that a board shows who failed it.
          ...(record.holder === undefined ? {} : { holder: record.holder }),
          next_retry_at,
          claimable_at: next_retry_at,
        }
      : DEAD),
    ...reported(report),
  })
}

/** Back to pending at once; the attempt stays counted. */
export const released = (record: WorkRecord, report: Report, now: number): WorkRecord =>
  closeAttempt(
    record,
    { outcome: 'released', disposition: 'requeued', ...reportEnding(report) },
    now,
    { ...requeued(now), ...reported(report) },
  )

/** What a sweep makes of a lapsed lease. */
export const reaped = (record: WorkRecord, now: number): WorkRecord | undefined =>
  isLeaseOver(record, now) ? ended(record, 'reaped', now) : undefined

/** What becomes of a claim whose endpoint was revoked. */
export const revoked = (record: WorkRecord, now: number): WorkRecord | undefined =>
  record.state === 'claimed' ? ended(record, 'revoked', now) : undefined

const ended = (record: WorkRecord, outcome: 'reaped' | 'revoked', now: number): WorkRecord => {
  const again = hasAttemptLeft(record)
  const disposition = again ? 'requeued' : 'dead_lettered'
  const changes = again ? requeued(now) : DEAD
  return closeAttempt(record, { outcome, disposition, ...SILENT }, now, changes)
}

/** A retry that has become due shows as pending again. */
export const retryDue = (record: WorkRecord, now: number): WorkRecord | undefined =>
  isRetryDue(record, now)
    ? changed(record, { ...requeued(now), updated_at: now }, 'next_retry_at', 'holder')
    : undefined

/** By hand: attempts count anew, the history stays. */
export const retriedByHand = (
  record: WorkRecord,
  key_hash: string | undefined,
  now: number,
): WorkRecord | undefined => {
  if (record.state !== 'failed') return undefined
  const changes = {
    ...requeued(now),
    attempt: 0,
    dead_letter: false,
    updated_at: now,
    ...(key_hash === undefined ? {} : { last_key_hash: key_hash }),
  }
  return changed(record, changes, 'next_retry_at', 'holder', 'result', 'not_before', 'ack_subject')
}
