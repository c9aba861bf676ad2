import type { Handler } from '@guildhall/bus'
import type { listTasks } from '@guildhall/contracts'
import type { Tasks } from '../context.ts'
import { readIdCursor, writeIdCursor } from '../cursor.ts'
import { toTask } from '../goal-rows.ts'
import { fitting } from '../page.ts'
import * as store from '../store/goal-lists.ts'

/** No agent has this id, so a human has no tasks of their own. */
const NOBODY = 0

export const handleListTasks =
  (tasks: Tasks): Handler<typeof listTasks> =>
  async ({ principal }, input) => {
    const agent_id = principal.kind === 'agent' ? principal.agent_id : undefined
    const rows = await store.listTasks(tasks.db, {
      owner_user_id: principal.user_id,
      goal_id: input.goal_id,
      status: input.status,
      claimable_by: input.claimable === true ? (agent_id ?? null) : undefined,
      agent_id: input.mine === true ? (agent_id ?? NOBODY) : undefined,
      limit: input.limit + 1,
      before_task_id: readIdCursor(input.cursor),
    })
    const shown = fitting(rows.slice(0, input.limit).map(toTask))
    const last = shown.at(-1)
    if (shown.length === rows.length || last === undefined) return { tasks: [...shown] }
    return { tasks: [...shown], next_cursor: writeIdCursor(last.task_id) }
  }
