import {
  ackWork,
  delayWork,
  type Entry,
  type PulledWork,
  pullWork,
  returnWork,
} from '@guildhall/bus'
import { laneConsumer, type WorkRecord } from '@guildhall/contracts'
import { type ClaimRequest, claimRecord, MESSAGE_DELAY_MAX_MS } from './claiming.ts'
import type { Tasks } from './context.ts'
import { closeLapsed } from './lapse.ts'
import { comesUpAt, isClaimable, isExhausted, isFinished, keepFence } from './work-item.ts'
import { holdMessage } from './work-messages.ts'

/**
 * Taking the next item: pull a message, then compare-and-set its record, then set the lease on the
 * message itself, so that JetStream hands it out again when the lease ends even if every service is
 * down by then. Dying after the pull costs the consumer's ack wait; dying after the compare-and-set
 * costs nothing, because a message found claimed is only delayed.
 */

export interface Taken {
  readonly record: WorkRecord
  readonly revision: number
  readonly data: Uint8Array
}

interface Candidate {
  readonly pulled: PulledWork
  readonly entry: Entry<WorkRecord>
}

/** Messages that one call may find not to be claimable before it gives up for now. */
const SKIPS_MAX = 1_024
/** Lost races that one call may have. */
const RACES_MAX = 64
/** A message without a record: its creator may be between its two writes. */
const NO_RECORD_DELAY_MS = 5_000

const loadForClaim = async (
  { records, clock }: Tasks,
  pulled: PulledWork,
): Promise<Entry<WorkRecord> | undefined> => {
  const entry = await records.load(pulled.owner_id, pulled.meta.id)
  if (entry !== undefined && isClaimable(entry.value, clock.now())) return entry
  return await records.loadFresh(pulled.owner_id, pulled.meta.id)
}

/** Does for a message that cannot be claimed what its record calls for. */
const putAside = async (
  tasks: Tasks,
  pulled: PulledWork,
  entry: Entry<WorkRecord> | undefined,
): Promise<void> => {
  const { bus, clock, log, records } = tasks
  if (entry === undefined) {
    log.warn({ todo_id: pulled.meta.id }, 'message without a record')
    delayWork(bus, pulled.ack_subject, NO_RECORD_DELAY_MS)
    return
  }
  const record = entry.value
  const now = clock.now()
  if (isFinished(record)) {
    ackWork(bus, pulled.ack_subject)
    return
  }
  if (isExhausted(record, now)) {
    await closeLapsed(tasks, { ...record, ack_subject: pulled.ack_subject }, entry.revision)
    return
  }
  const until = comesUpAt(record, now) ?? now + NO_RECORD_DELAY_MS
  delayWork(bus, pulled.ack_subject, Math.min(Math.max(until - now, 1), MESSAGE_DELAY_MAX_MS))
  if (record.state === 'claimed' && record.ack_subject !== pulled.ack_subject) {
    // So that heartbeats reach the message. Losing this write only means another delay later.
    const next = keepFence({ ...record, ack_subject: pulled.ack_subject }, entry.revision)
    await records.replace(next, entry.revision)
  }
}

/** The first claimable item of a queue: most urgent lane first, oldest first within it. */
const findCandidate = async (
  tasks: Tasks,
  owner_id: number,
  queue: string,
): Promise<Candidate | undefined> => {
  let skipped = 0
  for (const lane of tasks.lanes.of(owner_id, queue)) {
    while (skipped < SKIPS_MAX) {
      const pulled = await pullWork(tasks.bus, laneConsumer(lane))
      if (pulled === undefined) break
      const entry = await loadForClaim(tasks, pulled)
      if (entry !== undefined && isClaimable(entry.value, tasks.clock.now())) {
        return { pulled, entry }
      }
      await putAside(tasks, pulled, entry)
      skipped += 1
    }
  }
  return undefined
}

/** Takes one item from the queues, the one with the oldest candidate first; undefined: none now. */
export const takeNext = async (
  tasks: Tasks,
  request: ClaimRequest,
  owner_id: number,
  queues: readonly string[],
): Promise<Taken | undefined> => {
  for (let race = 0; race < RACES_MAX; race += 1) {
    const found = await Promise.all(queues.map((queue) => findCandidate(tasks, owner_id, queue)))
    const [first, ...rest] = found
      .filter((candidate) => candidate !== undefined)
      .sort((a, b) => a.entry.value.created_at - b.entry.value.created_at)
    for (const other of rest) returnWork(tasks.bus, other.pulled.ack_subject)
    if (first === undefined) return undefined
    const { pulled, entry } = first
    const next = claimRecord(tasks, request, entry.value, pulled.ack_subject)
    if (next !== undefined && request.keyed) {
      await tasks.claimKeys.note(request.claim_key_hash, next.id)
    }
    const revision =
      next === undefined ? undefined : await tasks.records.replace(next, entry.revision)
    if (next !== undefined && revision !== undefined) {
      holdMessage(tasks.bus, next, tasks.clock.now())
      return { record: next, revision, data: pulled.data }
    }
    // Somebody else wrote first: the message comes up again at once and is judged anew.
    returnWork(tasks.bus, pulled.ack_subject)
  }
  return undefined
}
