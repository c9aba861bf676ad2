import type { Handler } from '@guildhall/bus'
import { type retryTodo, ServiceError, type WorkRecord } from '@guildhall/contracts'
import type { Tasks } from '../context.ts'
import { ring } from '../doorbell.ts'
import { requireVisible } from '../holding.ts'
import { hashOf } from '../lease-token.ts'
import { toRow } from '../rows.ts'
import { transition } from '../transition.ts'
import { retriedByHand } from '../work-item.ts'
import { exhume, readBody } from '../work-messages.ts'

export const handleRetryTodo =
  (tasks: Tasks): Handler<typeof retryTodo> =>
  async (ctx, input) => {
    const key = input.idempotency_key ?? ctx.idempotency_key
    const key_hash = key === undefined ? undefined : hashOf(`retry_todo:${key}`)
    const result = await transition<WorkRecord>(
      tasks.records,
      ctx.principal.user_id,
      input.id,
      (entry) => {
        const record = requireVisible(ctx, entry?.value)
        if (key_hash !== undefined && record.last_key_hash === key_hash) return { answer: record }
        const next = retriedByHand(record, key_hash, tasks.clock.now())
        if (next === undefined) {
          throw new ServiceError(
            'conflict',
            `only a failed todo can be retried; it is ${record.state}`,
          )
        }
        return { write: next }
      },
      // Looked at before the write, so that a payload that is gone changes nothing.
      async (next) => await requirePayload(tasks, next),
    )
    const record = 'answer' in result ? result.answer : result.written.record
    // Also on a repeat: the first try may have died between record and message.
    if (record.state === 'pending') await exhume(tasks, record)
    ring(tasks, record)
    return toRow(record)
  }

const requirePayload = async (tasks: Tasks, record: WorkRecord): Promise<void> => {
  if ((await readBody(tasks, record)) !== undefined) return
  throw new ServiceError('conflict', 'the payload of this todo is no longer kept', {
    what_to_do: 'Replay the webhook event, or create the todo again.',
  })
}
