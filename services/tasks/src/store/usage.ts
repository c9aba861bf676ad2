import type { Trx } from '@guildhall/db'
import { firstRow, rowsOf } from '@guildhall/db'

/** What work cost, as reported: once per task and revision of its claim record. */

interface Usage {
  readonly task_id: number
  readonly revision: number
  readonly goal_id: number
  readonly agent_id: number | null
  readonly tokens: number
  readonly dollars_cents: number
  readonly now: Date
}

/** False: it was recorded before. */
export const addUsageIn = async (trx: Trx, usage: Usage): Promise<boolean> => {
  const row = await firstRow(
    trx,
    `insert into task_usage (task_id, revision, goal_id, agent_id, tokens, dollars_cents, recorded_at)
     values (:task_id, :revision, :goal_id, :agent_id, :tokens, :dollars_cents, :now)
     on conflict (task_id, revision) do nothing returning task_id`,
    { ...usage },
  )
  if (row === undefined) return false
  await rowsOf(
    trx,
    `update tasks set spent_tokens = spent_tokens + :tokens,
       spent_dollars_cents = spent_dollars_cents + :dollars_cents, updated_at = :now
     where task_id = :task_id`,
    { ...usage },
  )
  await rowsOf(
    trx,
    `update goals set spent_tokens = spent_tokens + :tokens,
       spent_dollars_cents = spent_dollars_cents + :dollars_cents, updated_at = :now
     where goal_id = :goal_id`,
    { ...usage },
  )
  return true
}
