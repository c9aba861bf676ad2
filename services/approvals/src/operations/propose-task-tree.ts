import type { Handler } from '@guildhall/bus'
import { proposeTaskTree } from '@guildhall/contracts'
import { transaction } from '@guildhall/db'
import { callOf } from '../call.ts'
import type { Deps } from '../deps.ts'
import { existingGoal } from '../goal-checks.ts'
import { proposeTreeIn } from '../propose-tree.ts'

export const handleProposeTaskTree =
  (deps: Deps): Handler<typeof proposeTaskTree> =>
  async (ctx, input) => {
    const call = callOf(deps, ctx, proposeTaskTree, input)
    const goal = await existingGoal(deps.records, call.user_id, input.goal_id)
    const { approval_id, channel_id, message_id } = await transaction(deps.db, (trx) =>
      proposeTreeIn(trx, call, ctx.principal, goal, input),
    )
    await deps.settle()
    return { proposal_message_id: message_id, channel_id, approval_id }
  }
