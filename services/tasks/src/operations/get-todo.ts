import type { Handler } from '@guildhall/bus'
import type { getTodo } from '@guildhall/contracts'
import type { Tasks } from '../context.ts'
import { requireVisible } from '../holding.ts'
import { mergeAttempts, toRow } from '../rows.ts'
import { listRings } from '../store/rings.ts'
import { listAttempts } from '../store/todos.ts'
import { openAttempt } from '../work-item.ts'

/** State and result come from the record; history from the projection, completed by the record. */
export const handleGetTodo =
  (tasks: Tasks): Handler<typeof getTodo> =>
  async (ctx, input) => {
    const entry = await tasks.records.loadFresh(ctx.principal.user_id, input.id)
    const record = requireVisible(ctx, entry?.value)
    const [{ attempts, kept }, rings] = await Promise.all([
      listAttempts(tasks.db, record.id, input.attempts_limit),
      listRings(tasks.db, record.owner_id, record.id),
    ])
    const open = openAttempt(record)
    const newest = open === undefined ? record.prior_attempts : [open, ...record.prior_attempts]
    const merged = mergeAttempts(newest, attempts)
    // The projection may not have seen the newest yet, but what it pruned is gone.
    const known = Math.max(kept, merged.length)
    return {
      ...toRow(record),
      result: record.result ?? null,
      attempts: merged.slice(0, input.attempts_limit),
      attempts_total: record.attempts_total,
      attempts_pruned: Math.max(0, record.attempts_total - known),
      rings: rings.map((ring) => ({ ...ring })),
    }
  }
