import type { TodoId, WorkRecord } from '@guildhall/contracts'

type NewItem = Pick<
  WorkRecord,
  'owner_id' | 'queue' | 'priority' | 'title' | 'payload_size' | 'content_type' | 'max_attempts'
> &
  Partial<
    Pick<WorkRecord, 'source' | 'kind' | 'not_before' | 'create_hash' | 'body_ref' | 'webhook_id'>
  > & { readonly id: TodoId }

/** An item as it begins: pending, never claimed. */
export const newItem = (item: NewItem, created_at: number): WorkRecord => ({
  v: 1,
  ...item,
  state: 'pending',
  created_at,
  updated_at: created_at,
  claimable_at: Math.max(created_at, item.not_before ?? 0),
  attempt: 0,
  attempts_total: 0,
  prior_attempts: [],
  dead_letter: false,
})
