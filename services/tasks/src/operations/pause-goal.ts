import type { Handler } from '@guildhall/bus'
import type { pauseGoal } from '@guildhall/contracts'
import type { Tasks } from '../context.ts'
import { stepGoal } from '../goal-step.ts'
import { storableText } from '../store/json.ts'

/** Nothing new is started; what is being worked on may be handed in and verified. */
export const handlePauseGoal =
  (tasks: Tasks): Handler<typeof pauseGoal> =>
  (ctx, { goal_id, reason }) =>
    stepGoal(tasks, ctx, goal_id, ({ status, title }) => {
      if (status === 'paused') return undefined
      const pause_reason = reason === undefined ? null : storableText(reason)
      const why = pause_reason === null ? '.' : `: ${pause_reason}`
      return {
        to: 'paused',
        change: 'paused',
        changes: { pause_reason },
        text: `Goal "${title}" was paused${why}`,
      }
    })
