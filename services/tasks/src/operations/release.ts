import type { Handler } from '@guildhall/bus'
import type { release } from '@guildhall/contracts'
import type { Tasks } from '../context.ts'
import { ring } from '../doorbell.ts'
import { followTaskLater } from '../task-effects.ts'
import { isTask } from '../task-item.ts'
import { released } from '../work-item.ts'
import { returnMessage } from '../work-messages.ts'
import { endClaim } from './end-claim.ts'

export const handleRelease =
  (tasks: Tasks): Handler<typeof release> =>
  (ctx, input) =>
    endClaim(tasks, ctx, 'release', input, {
      next: released,
      onEnd: async ({ before, record, revision }) => {
        if (isTask(record)) await followTaskLater(tasks, { record, revision })
        returnMessage(tasks.bus, before.ack_subject)
        ring(tasks, record)
      },
    })
