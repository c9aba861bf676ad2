import type { Handler } from '@guildhall/bus'
import {
  type claim,
  mayUseQueue,
  type OutputOf,
  ServiceError,
  type WorkRecord,
} from '@guildhall/contracts'
import {
  answerBody,
  type ClaimRequest,
  claimParts,
  claimRecord,
  claimRequest,
  flatClaim,
  isOwnClaim,
} from '../claiming.ts'
import type { Tasks } from '../context.ts'
import { closeLapsed } from '../lapse.ts'
import { transition } from '../transition.ts'
import { isExhausted } from '../work-item.ts'
import { holdMessage } from '../work-messages.ts'

export const handleClaim =
  (tasks: Tasks): Handler<typeof claim> =>
  async (ctx, input) => {
    const request = claimRequest(ctx, input)
    const { user_id } = ctx.principal
    const result = await transition(tasks.records, user_id, input.id, (entry) => {
      if (entry === undefined) throw new ServiceError('not_found', 'no such todo')
      if (!mayUseQueue(ctx.principal, entry.value.queue)) {
        throw new ServiceError(
          'forbidden',
          'the queue of this todo is not granted to this endpoint',
        )
      }
      if (isOwnClaim(entry.value, request, tasks.clock.now())) return { answer: entry }
      const next = claimRecord(tasks, request, entry.value, entry.value.ack_subject)
      return next === undefined ? { answer: entry } : { write: next }
    })
    if ('answer' in result) {
      const { value, revision } = result.answer
      if (isOwnClaim(value, request, tasks.clock.now())) {
        return await answer(tasks, request, value, revision)
      }
      if (isExhausted(value, tasks.clock.now())) await closeLapsed(tasks, value, revision)
      throw notClaimable(value)
    }
    const { record, revision } = result.written
    holdMessage(tasks.bus, record, tasks.clock.now())
    return await answer(tasks, request, record, revision)
  }

const notClaimable = (record: WorkRecord): ServiceError =>
  new ServiceError('conflict', `this todo is ${record.state} and cannot be claimed now`, {
    what_to_do: 'Take another with claim_next.',
  })

const answer = async (
  tasks: Tasks,
  request: ClaimRequest,
  record: WorkRecord,
  revision: number,
): Promise<OutputOf<typeof claim>> => {
  const data = await answerBody(tasks, record)
  return flatClaim(claimParts(tasks, request, record, revision, data))
}
