import type { EvidenceKind } from '@guildhall/contracts'
import { BY_AUTO, BY_COMMAND, BY_REFUSAL } from './judges.ts'
import type { TaskItem } from './task-item.ts'

/**
 * What a claim record says has happened to its task, in order. Each step has effects that are made
 * once; the name under which that is noted counts claims, not revisions, so that a record which is
 * written anew after the bucket was lost repeats nothing.
 */
export type Step =
  | { readonly name: string; readonly kind: 'claimed' }
  | { readonly name: string; readonly kind: 'submitted' }
  | { readonly name: string; readonly kind: 'reopened'; readonly outcome: Reopening }
  | { readonly name: string; readonly kind: 'over'; readonly end: End }

/** lost: the record was, so nobody is to blame. */
type Reopening = 'lapsed' | 'released' | 'revoked' | 'lost'
export type End = 'verified' | 'cancelled' | 'exhausted'

const outcomeOf = (record: TaskItem): Reopening => {
  const newest = record.prior_attempts[0]
  if (newest?.seq !== record.attempts_total) return 'lost'
  const { outcome } = newest
  if (outcome === 'reaped' || outcome === 'lease_expired') return 'lapsed'
  return outcome === 'revoked' ? 'revoked' : 'released'
}

const endOf = (record: TaskItem): End => {
  if (record.task.cancelled === true) return 'cancelled'
  return record.task.verdict === undefined ? 'exhausted' : 'verified'
}

export const stepsOf = (record: TaskItem): readonly Step[] => {
  const seq = record.attempts_total
  const claimed: readonly Step[] = seq === 0 ? [] : [{ name: `claimed:${seq}`, kind: 'claimed' }]
  const submitted: readonly Step[] =
    record.task.report === undefined ? [] : [{ name: `submitted:${seq}`, kind: 'submitted' }]
  switch (record.state) {
    case 'pending':
      return seq === 0
        ? []
        : [...claimed, { name: `reopened:${seq}`, kind: 'reopened', outcome: outcomeOf(record) }]
    case 'claimed':
      return claimed
    case 'awaiting_verification':
      return [...claimed, ...submitted]
    case 'done':
    case 'failed':
      return [...claimed, ...submitted, { name: 'over', kind: 'over', end: endOf(record) }]
  }
}

/** A heartbeat leaves a claim as it is; only its lease has moved. */
export const isHeartbeat = (record: TaskItem): boolean =>
  record.state === 'claimed' && record.open_attempt?.last_heartbeat_at !== null

/** What the verdict says of the one who did the work; undefined: nothing. */
export const evidenceOfVerdict = (record: TaskItem): EvidenceKind | undefined => {
  const { verdict } = record.task
  if (verdict === undefined || verdict.by === BY_REFUSAL) return undefined
  if (verdict.timed_out) return 'timed_out'
  if (!verdict.approved) return 'rejected'
  if (verdict.by === BY_AUTO) return 'verified_auto'
  return verdict.by === BY_COMMAND ? 'verified_command' : 'verified_peer'
}

/** For people: who said so. */
export const evidenceRef = (record: TaskItem): string => {
  const { task_id, verdict } = record.task
  if (verdict === undefined) return `task:${task_id} lapsed`
  const word = verdict.approved ? 'verified' : 'rejected'
  if (verdict.by === BY_AUTO || verdict.by === BY_COMMAND) {
    return `task:${task_id} ${word}=${verdict.by}`
  }
  return verdict.by.startsWith('agent:')
    ? `task:${task_id} ${word}=peer:${verdict.by.slice('agent:'.length)}`
    : `task:${task_id} ${word}=owner`
}
