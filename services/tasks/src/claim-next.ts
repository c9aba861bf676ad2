import {
  ackWork,
  delayWork,
  type Entry,
  type PulledWork,
  pullWork,
  returnWork,
} from '@guildhall/bus'
import { laneConsumer, type WorkItemId, type WorkRecord } from '@guildhall/contracts'
import {
  answerBody,
  type ClaimRequest,
  claimRecord,
  isOwnClaim,
  MESSAGE_DELAY_MAX_MS,
} from './claiming.ts'
import type { Tasks } from './context.ts'
import { closeLapsed } from './lapse.ts'
import type { ClaimNote } from './store/claim-keys.ts'
import { transition } from './transition.ts'
import { comesUpAt, isClaimable, isExhausted, isFinished, keepFence } from './work-item.ts'
import { holdMessage } from './work-messages.ts'

/**
 * Taking the next item: pull a message, then compare-and-set its record, then set the lease on the
 * message itself, so that JetStream hands it out again when the lease ends even if every service is
 * down by then. Dying after the pull costs the consumer's ack wait; dying after the compare-and-set
 * costs nothing, because a message found claimed is only delayed.
 */

interface Taken {
  readonly record: WorkRecord
  readonly revision: number
  /** Not fetched when it is too long for an answer. */
  readonly data: Uint8Array | undefined
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

/** The oldest of the queues' next items; the others go back at once. */
const findOldest = async (
  tasks: Tasks,
  owner_id: number,
  queues: readonly string[],
): Promise<Candidate | undefined> => {
  const found = await Promise.all(queues.map((queue) => findCandidate(tasks, owner_id, queue)))
  const [first, ...rest] = found
    .filter((candidate) => candidate !== undefined)
    .sort((a, b) => a.entry.value.created_at - b.entry.value.created_at)
  for (const other of rest) returnWork(tasks.bus, other.pulled.ack_subject)
  return first
}

/** Undefined: somebody else wrote first, the record or the note under the same key. */
const claimCandidate = async (
  tasks: Tasks,
  request: ClaimRequest,
  { pulled, entry }: Candidate,
  note: ClaimNote | undefined,
): Promise<Taken | undefined> => {
  const next = claimRecord(tasks, request, entry.value, pulled.ack_subject)
  if (next === undefined) return undefined
  if (note !== undefined) {
    const noted = await tasks.claimKeys.note(request.claim_key_hash, next.id, note)
    if (noted === undefined) return undefined
  }
  const revision = await tasks.records.replace(next, entry.revision)
  if (revision === undefined) return undefined
  holdMessage(tasks.bus, next, tasks.clock.now())
  return { record: next, revision, data: pulled.data }
}

/**
 * The item that another try under this key made for: already claimed by it, or claimed here in its
 * stead. Only when neither is so may this try take another item: the record has then moved on since
 * the note was made, and the claim of the other try can no longer succeed.
 */
const claimNoted = async (
  tasks: Tasks,
  request: ClaimRequest,
  owner_id: number,
  queues: readonly string[],
  todo_id: WorkItemId,
): Promise<Taken | undefined> => {
  const result = await transition<Entry<WorkRecord> | undefined>(
    tasks.records,
    owner_id,
    todo_id,
    (entry) => {
      if (entry === undefined) return { answer: undefined }
      if (isOwnClaim(entry.value, request, tasks.clock.now())) return { answer: entry }
      if (!queues.includes(entry.value.queue)) return { answer: undefined }
      const next = claimRecord(tasks, request, entry.value, entry.value.ack_subject)
      return next === undefined ? { answer: undefined } : { write: next }
    },
  )
  if ('written' in result) {
    const { record, revision } = result.written
    holdMessage(tasks.bus, record, tasks.clock.now())
    return { record, revision, data: await answerBody(tasks, record) }
  }
  if (result.answer === undefined) return undefined
  const { value, revision } = result.answer
  return { record: value, revision, data: await answerBody(tasks, value) }
}

/** Takes one item from the queues, the one with the oldest candidate first; undefined: none now. */
export const takeNext = async (
  tasks: Tasks,
  request: ClaimRequest,
  owner_id: number,
  queues: readonly string[],
): Promise<Taken | undefined> => {
  for (let race = 0; race < RACES_MAX; race += 1) {
    // Read anew after a lost race: another try under the same key may be who won it.
    const note = request.keyed ? await tasks.claimKeys.find(request.claim_key_hash) : undefined
    if (note?.todo_id !== undefined) {
      const noted = await claimNoted(tasks, request, owner_id, queues, note.todo_id)
      if (noted !== undefined) return noted
    }
    const candidate = await findOldest(tasks, owner_id, queues)
    if (candidate === undefined) return undefined
    const taken = await claimCandidate(tasks, request, candidate, note)
    if (taken !== undefined) return taken
    // The message comes up again at once and is judged anew.
    returnWork(tasks.bus, candidate.pulled.ack_subject)
  }
  return undefined
}
