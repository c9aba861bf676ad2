import { randomUUID } from 'node:crypto'
import {
  claim,
  claimNext,
  IDEMPOTENCY_KEY_MAX_CHARS,
  type Operation,
  ServiceError,
} from '@guildhall/contracts'
import type { Arguments, CallContext, CallServices } from '../calls/call-context.ts'
import { type Claimed, callClaim, callClaimNext } from '../calls/claims.ts'
import { clientKey, forward } from '../calls/forward.ts'

const KEY = new RegExp(`^[\\x21-\\x7e]{1,${IDEMPOTENCY_KEY_MAX_CHARS}}$`)

/** A key in the body, else the Idempotency-Key header, else one of ours. */
const keyOf = (op: Operation, args: Arguments, header: string | undefined): string | undefined => {
  if (op.access === 'read') return undefined
  const key = clientKey(args) ?? header
  if (key !== undefined && !KEY.test(key)) {
    const message = `the idempotency key must be 1 to ${IDEMPOTENCY_KEY_MAX_CHARS} visible characters`
    throw new ServiceError('invalid_argument', message)
  }
  return key ?? randomUUID()
}

export const callOperation = async (
  services: CallServices,
  context: CallContext,
  op: Operation,
  args: Arguments,
  idempotency_header: string | undefined,
): Promise<Claimed<unknown>> => {
  const key = keyOf(op, args, idempotency_header)
  const keyed = idempotency_header === undefined ? args : { idempotency_key: key, ...args }
  switch (op.name) {
    case claim.name:
      return callClaim(services, context, keyed)
    case claimNext.name:
      return callClaimNext(services, context, keyed)
    default:
      return { output: await forward(services, context, op, args, { key }) }
  }
}
