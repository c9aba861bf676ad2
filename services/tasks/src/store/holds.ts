import type { Trx } from '@guildhall/db'
import { type Connection, rowsOf } from '@guildhall/db'

/** What claims reserve of a budget until what they cost is known. */

interface Hold {
  readonly task_id: number
  readonly goal_id: number
  readonly claim_seq: number
  readonly claim_key_hash: string
  readonly tokens: number
  readonly dollars_cents: number
  readonly now: Date
}

/** A repeat changes nothing. What earlier claims of the task held goes: only one can be open. */
export const addHoldIn = async (trx: Trx, hold: Hold): Promise<void> => {
  await rowsOf(
    trx,
    `with earlier as (
       delete from budget_holds where task_id = :task_id and claim_seq < :claim_seq
     )
     insert into budget_holds (task_id, goal_id, claim_seq, claim_key_hash, tokens, dollars_cents,
       created_at)
     values (:task_id, :goal_id, :claim_seq, :claim_key_hash, :tokens, :dollars_cents, :now)
     on conflict (task_id, claim_seq, claim_key_hash) do nothing`,
    { ...hold },
  )
}

/** Of one claimant, or, without a key, of every claim up to this one. */
export const removeHoldsIn = (
  trx: Trx,
  task_id: number,
  claim_seq: number,
  claim_key_hash: string | undefined,
): Promise<{ task_id: number }[]> =>
  rowsOf(
    trx,
    `delete from budget_holds where task_id = :task_id
       and (claim_key_hash = :claim_key_hash and claim_seq = :claim_seq
         or cast(:claim_key_hash as text) is null and claim_seq <= :claim_seq)
     returning task_id`,
    { task_id, claim_seq, claim_key_hash: claim_key_hash ?? null },
  )

export const removeHoldsOfGoalIn = async (trx: Trx, goal_id: number): Promise<void> => {
  await rowsOf(trx, 'delete from budget_holds where goal_id = :goal_id', { goal_id })
}

export interface OpenHold {
  readonly task_id: number
  readonly owner_user_id: number
  readonly claim_seq: number
  readonly claim_key_hash: string
}

/** Holds made before a moment, of all owners, a page after a task: for the reconciler. */
export const holdsBefore = (
  db: Connection,
  before: Date,
  after_task_id: number,
  limit: number,
): Promise<OpenHold[]> =>
  rowsOf(
    db,
    `select h.task_id, tasks.owner_user_id, h.claim_seq, h.claim_key_hash
     from budget_holds h join tasks on tasks.task_id = h.task_id
     where h.created_at < :before and h.task_id in (
       select distinct task_id from budget_holds
       where created_at < :before and task_id > :after_task_id order by task_id limit :limit)
     order by h.task_id, h.claim_seq`,
    { before, after_task_id, limit },
  )
