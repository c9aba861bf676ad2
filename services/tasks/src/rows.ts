import type { Attempt, TodoRow, WorkRecord } from '@guildhall/contracts'

const iso = (ms: number): string => new Date(ms).toISOString()

/** Leases are promised in whole seconds, rounded down: never more than the holder has. */
export const isoSeconds = (ms: number): string => `${iso(ms).slice(0, 19)}Z`

/** The compact form of an item, as every answer but a claim's payload has it. */
export const toRow = (record: WorkRecord): TodoRow => ({
  id: record.id,
  queue: record.queue,
  ...(record.source === undefined ? {} : { source: record.source }),
  ...(record.kind === undefined ? {} : { kind: record.kind }),
  title: record.title,
  state: record.state,
  ...(record.holder === undefined ? {} : { owner: record.holder }),
  attempt: record.attempt,
  max_attempts: record.max_attempts,
  ...(record.lease_until === undefined ? {} : { lease_expires_at: isoSeconds(record.lease_until) }),
  next_retry_at: record.next_retry_at === undefined ? null : iso(record.next_retry_at),
  dead_letter: record.dead_letter,
  created_at: iso(record.created_at),
  payload_size: record.payload_size,
  priority: record.priority,
  ...(record.not_before === undefined ? {} : { not_before: iso(record.not_before) }),
})

/** Newest first, one per seq; `first` wins over `second` where both know an attempt. */
export const mergeAttempts = (
  first: readonly Attempt[],
  second: readonly Attempt[],
): readonly Attempt[] => {
  const by_seq = new Map<number, Attempt>()
  for (const attempt of [...second, ...first]) by_seq.set(attempt.seq, attempt)
  return [...by_seq.values()].sort((a, b) => b.seq - a.seq)
}
