import type { Handler } from '@guildhall/bus'
import type { fail } from '@guildhall/contracts'
import type { Tasks } from '../context.ts'
import { failed } from '../work-item.ts'
import { buryPayload, delayMessage, finishMessage } from '../work-messages.ts'
import { endClaim } from './end-claim.ts'

export const handleFail =
  (tasks: Tasks): Handler<typeof fail> =>
  (ctx, input) =>
    endClaim(tasks, ctx, 'fail', input, {
      next: failed,
      beforeWrite: async (next) => {
        if (next.dead_letter) await buryPayload(tasks, next, 'the last attempt failed')
      },
      onEnd: ({ before, record }) => {
        if (record.dead_letter) finishMessage(tasks.bus, before.ack_subject)
        else
          delayMessage(
            tasks.bus,
            before.ack_subject,
            (record.next_retry_at ?? 0) - tasks.clock.now(),
          )
      },
    })
