import type { Handler } from '@guildhall/bus'
import { requestResource } from '@guildhall/contracts'
import { transaction } from '@guildhall/db'
import { callOf } from '../call.ts'
import type { Deps } from '../deps.ts'
import { checkTaskContext, missingTaskContext, requestResourceIn } from '../request-resource.ts'

export const handleRequestResource =
  (deps: Deps): Handler<typeof requestResource> =>
  async (ctx, input) => {
    const { principal } = ctx
    if (principal.kind === 'human') throw missingTaskContext()
    const call = callOf(deps, ctx, requestResource, input)
    const now_ms = call.now.getTime()
    const task = await checkTaskContext(deps.records, principal, input.task_id, now_ms)
    const { approval_id, message_id } = await transaction(deps.db, (trx) =>
      requestResourceIn(trx, call, principal, task, input),
    )
    await deps.settle()
    return { request_id: approval_id, request_message_id: message_id }
  }
