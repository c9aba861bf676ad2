import type { Handler } from '@guildhall/bus'
import type { complete } from '@guildhall/contracts'
import type { Tasks } from '../context.ts'
import { completed } from '../work-item.ts'
import { finishMessage } from '../work-messages.ts'
import { endClaim } from './end-claim.ts'

export const handleComplete =
  (tasks: Tasks): Handler<typeof complete> =>
  (ctx, input) =>
    endClaim(tasks, ctx, 'complete', input, {
      next: completed,
      onEnd: ({ before }) => finishMessage(tasks.bus, before.ack_subject),
    })
