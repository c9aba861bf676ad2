import { type Bus, createKv } from '@guildhall/bus'
import { buckets, ClaimKeyRecord, type WorkItemId } from '@guildhall/contracts'

/**
 * Which item a caller tried to claim under its idempotency key. Noted before the claim is made, so
 * that whoever asks again finds what an unanswered try did, however far the projection is behind.
 * It only says where to look: the record tells whether the claim was made and still holds.
 */
export interface ClaimKeys {
  find(claim_key_hash: string): Promise<WorkItemId | undefined>
  note(claim_key_hash: string, todo_id: WorkItemId): Promise<void>
}

export const openClaimKeys = (bus: Bus): ClaimKeys => {
  const kv = createKv(bus, buckets.claimKeys, ClaimKeyRecord)
  return {
    find: async (claim_key_hash) => (await kv.get(claim_key_hash))?.value.todo_id,
    note: async (claim_key_hash, todo_id) => {
      await kv.put(claim_key_hash, { v: 1, todo_id })
    },
  }
}
