import type { CallContext } from '@guildhall/bus'
import { RESULT_MAX_BYTES, ServiceError, type TodoRow, type WorkRecord } from '@guildhall/contracts'
import type { Tasks } from '../context.ts'
import { requireHolder, requireVisible } from '../holding.ts'
import { hashOf } from '../lease-token.ts'
import { toRow } from '../rows.ts'
import { checkArtifact, cleanSummary } from '../text.ts'
import { transition } from '../transition.ts'
import type { Report } from '../work-item.ts'

/** What complete, fail and release have in common: the holder ends the claim, with a report. */

interface EndInput {
  readonly id: string
  readonly summary?: string | undefined
  readonly artifact?: string | undefined
  readonly result?: unknown
  readonly lease_token?: string | undefined
  readonly idempotency_key?: string | undefined
}

const checkResult = (result: unknown): unknown => {
  if (result === undefined) return undefined
  if (Buffer.byteLength(JSON.stringify(result)) <= RESULT_MAX_BYTES) return result
  throw new ServiceError('payload_too_large', `result: at most ${RESULT_MAX_BYTES} bytes of JSON`)
}

const keyHash = (ctx: CallContext, verb: string, input: EndInput): string | undefined => {
  const key = input.idempotency_key ?? ctx.idempotency_key
  return key === undefined ? undefined : hashOf(`${verb}:${key}`)
}

interface Ended {
  readonly before: WorkRecord
  readonly record: WorkRecord
  readonly revision: number
}

/**
 * `onEnd` follows the write that ended the claim: it moves or removes the message. A repeat of the
 * call that ended the claim gets the same answer and changes nothing.
 */
export const endClaim = async (
  tasks: Tasks,
  ctx: CallContext,
  verb: string,
  input: EndInput,
  steps: {
    readonly next: (record: WorkRecord, report: Report, now: number) => WorkRecord
    readonly beforeWrite?: (next: WorkRecord) => Promise<void>
    readonly onEnd: (ended: Ended) => void | Promise<void>
  },
): Promise<TodoRow> => {
  const report: Report = {
    ...cleanSummary(input.summary),
    artifact: checkArtifact(input.artifact),
    result: checkResult(input.result),
    key_hash: keyHash(ctx, verb, input),
  }
  const result = await transition<WorkRecord>(
    tasks.records,
    ctx.principal.user_id,
    input.id,
    (entry) => {
      const record = requireVisible(ctx, entry?.value)
      if (report.key_hash !== undefined && record.last_key_hash === report.key_hash) {
        return { answer: record }
      }
      const now = tasks.clock.now()
      requireHolder(ctx, record, input.lease_token, now)
      return { write: steps.next(record, report, now) }
    },
    steps.beforeWrite,
  )
  if ('answer' in result) return toRow(result.answer)
  const { before, record, revision } = result.written
  await steps.onEnd({ before, record, revision })
  return toRow(record)
}
