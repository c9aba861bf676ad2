import { type Bus, createKv } from '@guildhall/bus'
import { buckets, ClaimKeyRecord, type WorkItemId } from '@guildhall/contracts'

/**
 * Which item a caller tries to claim under its idempotency key. Noted before the claim is made, so
 * that whoever asks again finds what an unanswered try did, however far the projection is behind.
 * It only says where to look: the record tells whether the claim was made and still holds.
 *
 * A note is a compare-and-set on the one before, so of two simultaneous tries under one key one is
 * sent to the other's item. It costs what an unconditional write would.
 */
export interface ClaimKeys {
  find(claim_key_hash: string): Promise<ClaimNote>
  /** The note as it is now, or undefined: another try under this key has noted an item meanwhile. */
  note(
    claim_key_hash: string,
    todo_id: WorkItemId,
    before: ClaimNote,
  ): Promise<ClaimNote | undefined>
}

export interface ClaimNote {
  /** Undefined: nothing was tried under this key yet. */
  readonly todo_id?: WorkItemId
  readonly revision: number
}

export const openClaimKeys = (bus: Bus): ClaimKeys => {
  const kv = createKv(bus, buckets.claimKeys, ClaimKeyRecord)
  return {
    find: async (claim_key_hash) => {
      const entry = await kv.get(claim_key_hash)
      return entry === undefined
        ? { revision: 0 }
        : { todo_id: entry.value.todo_id, revision: entry.revision }
    },
    note: async (claim_key_hash, todo_id, before) => {
      const revision = await kv.update(claim_key_hash, { v: 1, todo_id }, before.revision)
      return revision === undefined ? undefined : { todo_id, revision }
    },
  }
}
