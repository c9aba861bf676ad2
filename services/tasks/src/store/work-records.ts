import { type Bus, createKv, type Entry } from '@guildhall/bus'
import { buckets, WorkRecord, workKey } from '@guildhall/contracts'

/**
 * The claim records: the only authority on the state of an item.
 *
 * What this process last saw is kept, so that a transition is usually one write and no read: the
 * compare-and-set refuses it if the record has moved on. So a remembered record may lead to a write,
 * never to a refusal: before a caller is told no, the record is read again.
 */
export interface WorkRecords {
  /** Newest known here; may be stale. */
  load(owner_id: number, todo_id: string): Promise<Entry<WorkRecord> | undefined>
  /** Read from the bucket. */
  loadFresh(owner_id: number, todo_id: string): Promise<Entry<WorkRecord> | undefined>
  /** The new revision, or undefined: the item exists. */
  create(record: WorkRecord): Promise<number | undefined>
  /** The new revision, or undefined: somebody else wrote first. */
  replace(record: WorkRecord, revision: number): Promise<number | undefined>
  /** Takes an item back that nobody was promised. False: somebody else wrote first. */
  withdraw(record: WorkRecord, revision: number): Promise<boolean>
}

const REMEMBERED_MAX = 10_000

export const openWorkRecords = (bus: Bus): WorkRecords => {
  const kv = createKv(bus, buckets.work, WorkRecord)
  const remembered = new Map<string, Entry<WorkRecord>>()

  const remember = (key: string, entry: Entry<WorkRecord>): void => {
    remembered.delete(key)
    remembered.set(key, entry)
    if (remembered.size > REMEMBERED_MAX) {
      const oldest = remembered.keys().next().value
      if (oldest !== undefined) remembered.delete(oldest)
    }
  }

  const loadFresh = async (owner_id: number, todo_id: string) => {
    const key = workKey(owner_id, todo_id)
    const entry = await kv.get(key)
    if (entry === undefined) remembered.delete(key)
    else remember(key, entry)
    return entry
  }

  const write = async (
    record: WorkRecord,
    send: (key: string) => Promise<number | undefined>,
  ): Promise<number | undefined> => {
    const key = workKey(record.owner_id, record.id)
    try {
      const revision = await send(key)
      if (revision === undefined) remembered.delete(key)
      else remember(key, { value: record, revision })
      return revision
    } catch (error) {
      // The outcome is unknown: what we remember may be the past.
      remembered.delete(key)
      throw error
    }
  }

  return {
    loadFresh,
    load: async (owner_id, todo_id) =>
      remembered.get(workKey(owner_id, todo_id)) ?? (await loadFresh(owner_id, todo_id)),
    create: (record) => write(record, (key) => kv.create(key, record)),
    replace: (record, revision) => write(record, (key) => kv.update(key, record, revision)),
    withdraw: async (record, revision) => {
      const key = workKey(record.owner_id, record.id)
      remembered.delete(key)
      return await kv.withdraw(key, revision)
    },
  }
}
