import {
  type ClaimedTodo,
  claim,
  claimNext,
  type OutputOf,
  release,
  ServiceError,
} from '@guildhall/contracts'
import { withGrant } from '../identity/endpoint-view.ts'
import type { Arguments, CallContext, CallServices } from './call-context.ts'
import { callKey, clientKey, forward } from './forward.ts'

/**
 * Claims, and what becomes of a claim whose client went away while it was being made.
 *
 * A long wait is cut into slices. Between two slices we look whether the client is still there, its
 * credential still live and this replica not on its way out; so a wait for nobody ends within a
 * slice, and a drain does not last as long as the longest wait.
 *
 * A claim that was made in spite of that is given back at once, instead of keeping its todo locked
 * for the lease. Not so when the client named an idempotency key: it can then repeat the call and
 * get the same lease, which is better than a lost attempt. A client that dies without closing its
 * connection cannot be noticed here; its lease lapses.
 */

const WAIT_SLICE_SECONDS = 10

const RELEASE_SUMMARY = 'The client was gone before the answer of its claim reached it.'

type Lease = Pick<ClaimedTodo, 'id' | 'lease_token'>

export interface Claimed<Output> {
  readonly output: Output
  /** To be called when the answer could not be delivered. */
  readonly undo?: () => Promise<void>
}

const undoClaim =
  ({ caller, log }: CallServices, { principal, request_id }: CallContext, lease: Lease) =>
  async (): Promise<void> => {
    const fields = { request_id, todo_id: lease.id }
    try {
      await caller.call(
        release,
        { id: lease.id, lease_token: lease.lease_token, summary: RELEASE_SUMMARY },
        {
          principal: principal.kind === 'agent' ? withGrant(principal, release.name) : principal,
          request_id,
          idempotency_key: `undo-${request_id}`,
        },
      )
      log.info(fields, 'claim released, its client was gone')
    } catch (err) {
      log.warn({ ...fields, err }, 'claim of a lost client not released')
    }
  }

const withUndo = <Output>(
  services: CallServices,
  context: CallContext,
  args: Arguments,
  output: Output,
  lease: Lease | undefined,
): Claimed<Output> =>
  lease === undefined || clientKey(args) !== undefined
    ? { output }
    : { output, undo: undoClaim(services, context, lease) }

export const callClaim = async (
  services: CallServices,
  context: CallContext,
  args: Arguments,
): Promise<Claimed<OutputOf<typeof claim>>> => {
  const output = await forward(services, context, claim, args)
  return withUndo(services, context, args, output, output)
}

/** Slices share one key: a slice that claimed, but whose answer was lost, is found by the next. */
const waitForClaim = async (
  services: CallServices,
  context: CallContext,
  args: Arguments,
): Promise<OutputOf<typeof claimNext>> => {
  const key = callKey(claimNext, args)
  let left = typeof args.wait_seconds === 'number' ? args.wait_seconds : 0
  for (;;) {
    const wait_seconds = Math.min(left, WAIT_SLICE_SECONDS)
    const slice = args.wait_seconds === undefined ? args : { ...args, wait_seconds }
    const output = await forward(services, context, claimNext, slice, { key, wait_seconds })
    left -= wait_seconds
    if (!output.empty || left <= 0 || context.gone() || services.draining()) return output
    if (!context.live()) {
      throw new ServiceError('unauthenticated', 'the credential ended during the wait')
    }
  }
}

export const callClaimNext = async (
  services: CallServices,
  context: CallContext,
  args: Arguments,
): Promise<Claimed<OutputOf<typeof claimNext>>> => {
  const output = await waitForClaim(services, context, args)
  const { todo, lease_token } = output
  const lease =
    todo === undefined || lease_token === undefined ? undefined : { id: todo.id, lease_token }
  return withUndo(services, context, args, output, lease)
}
