import type { Handler } from '@guildhall/bus'
import { type getTodoPayload, ServiceError } from '@guildhall/contracts'
import type { Tasks } from '../context.ts'
import { requireHolder, requireVisible } from '../holding.ts'
import { payloadPage } from '../payload.ts'
import { readBody } from '../work-messages.ts'

export const handleGetTodoPayload =
  (tasks: Tasks): Handler<typeof getTodoPayload> =>
  async (ctx, input) => {
    const entry = await tasks.records.loadFresh(ctx.principal.user_id, input.id)
    const record = requireVisible(ctx, entry?.value)
    requireHolder(ctx, record, input.lease_token, tasks.clock.now())
    const data = await readBody(tasks, record)
    if (data === undefined) throw new ServiceError('not_found', 'this payload is no longer kept')
    if (input.offset > data.length) {
      throw new ServiceError('invalid_argument', `offset: at most ${data.length}`)
    }
    return {
      id: record.id,
      content_type: record.content_type,
      total_bytes: data.length,
      offset: input.offset,
      ...payloadPage(data, input.offset),
    }
  }
