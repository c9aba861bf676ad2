import type { Handler } from '@guildhall/bus'
import { cancelApproval } from '@guildhall/contracts'
import { transaction } from '@guildhall/db'
import { callOf } from '../call.ts'
import type { Deps } from '../deps.ts'
import { rowOf } from '../settled.ts'
import { checkStorable } from '../storable-json.ts'
import { withdrawIn } from '../withdraw.ts'

export const handleCancelApproval =
  (deps: Deps): Handler<typeof cancelApproval> =>
  async (ctx, input) => {
    const { principal } = ctx
    const call = callOf(deps, ctx, cancelApproval, input)
    checkStorable(input.reason, 'reason')
    const agent_id = principal.kind === 'agent' ? principal.agent_id : null
    const key = { user_id: call.user_id, approval_id: input.approval_id }
    const approval = await transaction(deps.db, (trx) =>
      withdrawIn(trx, call, key, agent_id, input.reason),
    )
    await deps.settle()
    return rowOf(approval)
  }
