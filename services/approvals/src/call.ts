import { randomBytes } from 'node:crypto'
import type { CallContext } from '@guildhall/bus'
import {
  holderName,
  type Operation,
  type Principal,
  ServiceError,
  sha256Hex,
} from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import type { Deps } from './deps.ts'
import { IDEMPOTENCY_WINDOW_MS } from './limits.ts'
import { addAudit } from './store/audit-log.ts'
import { findCall, insertCall, type KeyedCall } from './store/idempotent-calls.ts'

/** One call that changes something: who, when, and whether it is a repeat. */
export interface Call {
  readonly user_id: number
  readonly actor: string
  readonly request_id: string
  readonly now: Date
  /** Absent when the caller gave no idempotency key: then each call is a new one. */
  readonly keyed: (KeyedCall & { readonly idempotency_key: string }) | undefined
}

/** Keys are the caller's own: two endpoints of one agent may use the same one. */
const callerName = (principal: Principal): string =>
  principal.kind === 'agent' ? `endpoint:${principal.endpoint_id}` : `human:${principal.user_id}`

/** The same text for the same input, in whatever order its fields came. */
export const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, field: unknown) =>
    typeof field === 'object' && field !== null && !Array.isArray(field)
      ? Object.fromEntries(Object.entries(field).sort(([a], [b]) => (a < b ? -1 : 1)))
      : field,
  )

/** Some inputs carry the key themselves; it is then no part of what a repeat has to repeat. */
const splitKey = (input: object): { key: unknown; rest: object } => {
  const { idempotency_key: key, ...rest } = { idempotency_key: undefined, ...input }
  return { key, rest }
}

export const callOf = (
  { clock }: Pick<Deps, 'clock'>,
  { principal, request_id, idempotency_key: sent_key }: CallContext,
  op: Operation,
  input: object,
): Call => {
  const { key, rest } = splitKey(input)
  const idempotency_key = typeof key === 'string' ? key : sent_key
  return {
    user_id: principal.user_id,
    actor: holderName(principal),
    request_id,
    now: new Date(clock.now()),
    keyed:
      idempotency_key === undefined
        ? undefined
        : {
            caller: callerName(principal),
            operation: op.name,
            key_hash: sha256Hex(idempotency_key),
            input_hash: sha256Hex(canonical(rest)),
            idempotency_key,
          },
  }
}

interface ClaimedCall {
  /** Whether a call with this key was made before: then nothing is to be done again. */
  readonly repeat: boolean
  /** What the first call made or changed. */
  readonly object_id: string
  /** What the first call's token is computed from; absent without a key. */
  readonly seed: readonly string[] | undefined
}

const SALT_BYTES = 16

/**
 * Marks the call as made, for `object_id`, or finds that it was. In the transaction of the change,
 * so that the mark stands exactly if the change does.
 */
export const claimCall = async (
  trx: Trx,
  { keyed, now }: Call,
  object_id: string,
): Promise<ClaimedCall> => {
  if (keyed === undefined) return { repeat: false, object_id, seed: undefined }
  const { idempotency_key, ...call } = keyed
  const seed = (salt: string) => [call.caller, call.operation, idempotency_key, salt]
  const salt = randomBytes(SALT_BYTES).toString('base64url')
  const used_since = new Date(now.getTime() - IDEMPOTENCY_WINDOW_MS)
  if (await insertCall(trx, { ...call, object_id, salt, now, used_since })) {
    return { repeat: false, object_id, seed: seed(salt) }
  }
  const earlier = await findCall(trx, call)
  // Swept between the two statements: its time is over, so a repeat of this call is a first one.
  if (earlier === undefined) throw new ServiceError('unavailable', 'the key just expired')
  if (earlier.input_hash === call.input_hash) {
    return { repeat: true, object_id: earlier.object_id, seed: seed(earlier.salt) }
  }
  throw new ServiceError(
    'idempotency_conflict',
    'this idempotency key was used for another call with other arguments',
  )
}

export const audit = (
  trx: Trx,
  { now, user_id, actor, request_id }: Call,
  action: string,
  object: string,
  details: Readonly<Record<string, unknown>> = {},
): Promise<void> => addAudit(trx, { at: now, user_id, actor, action, object, details, request_id })

/** What the service does by itself, because its time came or another service said so. */
export const systemCall = (user_id: number, now: Date): Call => ({
  user_id,
  actor: 'system',
  request_id: 'none',
  now,
  keyed: undefined,
})

export const auditOf = (
  trx: Trx,
  user_id: number,
  now: Date,
  action: string,
  object: string,
  details: Readonly<Record<string, unknown>> = {},
): Promise<void> => audit(trx, systemCall(user_id, now), action, object, details)
