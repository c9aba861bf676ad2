import { randomUUID } from 'node:crypto'
import { type Operation, type OutputOf, RPC_TIMEOUT_MS } from '@guildhall/contracts'
import type { z } from 'zod'
import type { Arguments, CallContext, CallServices } from './call-context.ts'

interface ForwardOptions {
  readonly key?: string | undefined
  /** How long the service itself may wait, on top of the usual time for an answer. */
  readonly wait_seconds?: number
}

/** The key that the client named, which makes a repeat of its own safe. */
export const clientKey = (args: Arguments): string | undefined =>
  typeof args.idempotency_key === 'string' ? args.idempotency_key : undefined

/**
 * Every write carries a key, minted here when the client named none: a call that timed out is then
 * repeated under the same key and takes effect once.
 */
export const callKey = (op: Operation, args: Arguments): string | undefined =>
  op.access === 'write' ? (clientKey(args) ?? randomUUID()) : undefined

/** One call to the service that owns the operation. Arguments were checked against its schema. */
export const forward = async <Op extends Operation>(
  { caller }: CallServices,
  { principal, request_id, traceparent }: CallContext,
  op: Op,
  args: Arguments,
  { key = callKey(op, args), wait_seconds = 0 }: ForwardOptions = {},
): Promise<OutputOf<Op>> =>
  caller.call(
    op,
    args as z.input<Op['input']>, // as above; the service parses them again
    {
      principal,
      request_id,
      idempotency_key: key,
      traceparent,
      timeout_ms: wait_seconds * 1_000 + (op.answer_ms ?? RPC_TIMEOUT_MS),
    },
  )
