import type { Handler } from '@guildhall/bus'
import type { heartbeat } from '@guildhall/contracts'
import type { Tasks } from '../context.ts'
import { requireHolder, requireVisible } from '../holding.ts'
import { leaseMs } from '../lease-length.ts'
import { toRow } from '../rows.ts'
import { transition } from '../transition.ts'
import { heartbeaten, keepFence } from '../work-item.ts'
import { holdMessage } from '../work-messages.ts'

export const handleHeartbeat =
  (tasks: Tasks): Handler<typeof heartbeat> =>
  async (ctx, input) => {
    const lease_ms = leaseMs(ctx.principal, input.lease_ttl_seconds)
    const explicit = (input.lease_ttl_seconds ?? 0) > 0
    const result = await transition<never>(
      tasks.records,
      ctx.principal.user_id,
      input.id,
      (entry) => {
        const record = requireVisible(ctx, entry?.value)
        const now = tasks.clock.now()
        requireHolder(ctx, record, input.lease_token, now)
        const kept = keepFence(record, entry?.revision ?? 0)
        return { write: heartbeaten(kept, lease_ms, explicit, now) }
      },
    )
    if ('answer' in result) return result.answer
    holdMessage(tasks.bus, result.written.record, tasks.clock.now())
    return toRow(result.written.record)
  }
