import type { Entry } from '@guildhall/bus'
import { ServiceError, type WorkRecord } from '@guildhall/contracts'
import type { WorkRecords } from './store/work-records.ts'

/**
 * One transition by compare-and-set: decide from the record, write, and start over when somebody
 * else wrote in between.
 */

/** Each try loses only to a write of somebody else, so this many means a broken loop, not traffic. */
const TRIES = 16

type Decision<T> =
  | { readonly write: WorkRecord }
  /** No write is needed or allowed: this is the answer. */
  | { readonly answer: T }

interface Written {
  readonly record: WorkRecord
  readonly revision: number
  readonly before: WorkRecord
}

/**
 * `decide` may throw or answer only on what was read from the bucket just now; for a record that was
 * merely remembered its refusal leads to a read and a second look.
 */
export const transition = async <T>(
  records: WorkRecords,
  owner_id: number,
  todo_id: string,
  decide: (entry: Entry<WorkRecord> | undefined) => Decision<T>,
  /** Must be harmless when the write is then lost or repeated. */
  beforeWrite?: (next: WorkRecord) => Promise<void>,
): Promise<{ written: Written } | { answer: T }> => {
  let fresh = false
  for (let tried = 0; tried < TRIES; tried += 1) {
    const entry = fresh
      ? await records.loadFresh(owner_id, todo_id)
      : await records.load(owner_id, todo_id)
    let decision: Decision<T>
    try {
      decision = decide(entry)
    } catch (error) {
      if (fresh) throw error
      fresh = true
      continue
    }
    if ('answer' in decision) {
      if (fresh) return decision
      fresh = true
      continue
    }
    if (entry === undefined) throw new Error('a transition needs a record')
    await beforeWrite?.(decision.write)
    const revision = await records.replace(decision.write, entry.revision)
    if (revision !== undefined) {
      return { written: { record: decision.write, revision, before: entry.value } }
    }
    fresh = true
  }
  throw new ServiceError('unavailable', 'this item changes too fast right now')
}
