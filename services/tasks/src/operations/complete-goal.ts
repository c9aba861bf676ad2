import type { Handler } from '@guildhall/bus'
import type { completeGoal } from '@guildhall/contracts'
import type { Tasks } from '../context.ts'
import { stepGoal } from '../goal-step.ts'
import { storableText } from '../store/json.ts'

export const handleCompleteGoal =
  (tasks: Tasks): Handler<typeof completeGoal> =>
  (ctx, { goal_id, status: to, summary }) =>
    stepGoal(tasks, ctx, goal_id, ({ status, title }) => {
      if (status === to) return undefined
      const completion_summary = summary === undefined ? null : storableText(summary)
      const what = to === 'completed' ? 'is completed' : 'is stuck'
      return {
        to,
        change: to,
        changes: {
          completion_summary,
          pause_reason: null,
          ...(to === 'completed' ? { completed_at: new Date(tasks.clock.now()) } : {}),
        },
        text: `Goal "${title}" ${what}${completion_summary === null ? '.' : `: ${completion_summary}`}`,
      }
    })
