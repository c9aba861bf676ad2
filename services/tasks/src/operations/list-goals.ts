import type { Handler } from '@guildhall/bus'
import { goalChannelId, type listGoals } from '@guildhall/contracts'
import type { Tasks } from '../context.ts'
import { readIdCursor, writeIdCursor } from '../cursor.ts'
import * as store from '../store/goal-lists.ts'

export const handleListGoals =
  (tasks: Tasks): Handler<typeof listGoals> =>
  async ({ principal }, input) => {
    const rows = await store.listGoals(tasks.db, {
      owner_user_id: principal.user_id,
      status: input.status,
      // One more than asked for tells whether there is a next page.
      limit: input.limit + 1,
      before_goal_id: readIdCursor(input.cursor),
    })
    const goals = rows
      .slice(0, input.limit)
      .map(({ spent_tokens, spent_dollars_cents, ...goal }) => ({
        ...goal,
        channel_id: goalChannelId(goal.id),
        cost_totals: { tokens: spent_tokens, dollars_cents: spent_dollars_cents },
      }))
    const last = goals.at(-1)
    if (rows.length <= input.limit || last === undefined) return { goals }
    return { goals, next_cursor: writeIdCursor(last.id) }
  }
