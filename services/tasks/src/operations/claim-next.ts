import type { CallContext, Handler } from '@guildhall/bus'
import {
  type claimNext,
  mayUseQueue,
  type OutputOf,
  QUEUES_PER_ENDPOINT_MAX,
  ServiceError,
  type WorkRecord,
} from '@guildhall/contracts'
import { takeNext } from '../claim-next.ts'
import { answerBody, type ClaimRequest, claimParts, claimRequest, isOwnClaim } from '../claiming.ts'
import type { Tasks } from '../context.ts'
import { findClaimByKey, listQueues } from '../store/todos.ts'

/** A ring may be lost, so a waiter looks again by itself this often. */
const LOOK_AGAIN_MS = 1_000
/** Time kept back from the caller's deadline, so that a claim is never made for nobody. */
const ANSWER_MARGIN_MS = 250

const queuesOf = async (
  tasks: Tasks,
  ctx: CallContext,
  queue: string | undefined,
): Promise<readonly string[]> => {
  if (queue !== undefined) {
    if (!mayUseQueue(ctx.principal, queue)) {
      throw new ServiceError('forbidden', `the queue ${queue} is not granted to this endpoint`)
    }
    return [queue]
  }
  if (ctx.principal.kind === 'agent') return ctx.principal.scope.queues
  return await listQueues(tasks.db, ctx.principal.user_id, QUEUES_PER_ENDPOINT_MAX)
}

/**
 * The claim that an earlier try of this request made, when its answer was lost. A key that the
 * gateway minted is known only to the projection; one of the caller's own is noted before each claim,
 * and `takeNext` looks there.
 */
const findOwnClaim = async (tasks: Tasks, user_id: number, request: ClaimRequest) => {
  const id = await findClaimByKey(tasks.db, user_id, request.claim_key_hash).catch(
    (err: unknown) => {
      // Claims go on without the database; what the lost try claimed lapses at the worst.
      tasks.log.warn({ err }, 'an earlier try cannot be looked up')
      return undefined
    },
  )
  if (id === undefined) return undefined
  const entry = await tasks.records.loadFresh(user_id, id)
  return entry !== undefined && isOwnClaim(entry.value, request, tasks.clock.now())
    ? entry
    : undefined
}

const answer = (
  tasks: Tasks,
  request: ClaimRequest,
  record: WorkRecord,
  revision: number,
  data: Uint8Array | undefined,
): OutputOf<typeof claimNext> => {
  const { row, payload, lease } = claimParts(tasks, request, record, revision, data)
  return { empty: false, todo: Object.assign({}, row, payload), ...lease }
}

export const handleClaimNext =
  (tasks: Tasks): Handler<typeof claimNext> =>
  async (ctx, input): Promise<OutputOf<typeof claimNext>> => {
    const { user_id } = ctx.principal
    const queues = await queuesOf(tasks, ctx, input.queue)
    const request = claimRequest(ctx, input)
    if (ctx.repeat && !request.keyed) {
      const own = await findOwnClaim(tasks, user_id, request)
      if (own !== undefined) {
        const data = await answerBody(tasks, own.value)
        return answer(tasks, request, own.value, own.revision, data)
      }
    }
    // Waiting is about the caller, whose clock is the machine's; leases are judged by ours.
    const wait_until = Math.min(
      Date.now() + (input.wait_seconds ?? 0) * 1_000,
      ctx.deadline_ms - ANSWER_MARGIN_MS,
    )
    for (;;) {
      const taken = await takeNext(tasks, request, user_id, queues)
      if (taken !== undefined) {
        return answer(tasks, request, taken.record, taken.revision, taken.data)
      }
      const left_ms = wait_until - Date.now()
      if (left_ms <= 0) return { empty: true }
      await tasks.waitRoom.wait(user_id, queues, Math.min(left_ms, LOOK_AGAIN_MS))
      if (tasks.waitRoom.closed()) return { empty: true }
    }
  }
