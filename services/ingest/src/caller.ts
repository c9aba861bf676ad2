import type { CallContext } from '@guildhall/bus'
import type { Principal } from '@guildhall/contracts'
import type { KeyedCall } from './store/answers.ts'

/** Whose webhooks a caller sees: an agent those of its endpoint, a human all of their own. */
export interface Scope {
  readonly owner_id: number
  /** Null: no endpoint; the human's own. */
  readonly endpoint_id: string | null
  /** Null: every queue. */
  readonly queues: readonly string[] | null
}

export const scopeOf = (principal: Principal): Scope =>
  principal.kind === 'agent'
    ? {
        owner_id: principal.user_id,
        endpoint_id: principal.endpoint_id,
        queues: principal.scope.queues,
      }
    : { owner_id: principal.user_id, endpoint_id: null, queues: null }

/** A call that `answerOnce` can tell again. The header's key counts before the argument's. */
export const keyedCall = (
  { principal, idempotency_key }: Pick<CallContext, 'principal' | 'idempotency_key'>,
  operation: string,
  input: Readonly<Record<string, unknown>> & { readonly idempotency_key?: string | undefined },
): KeyedCall => ({
  owner_id: principal.user_id,
  caller: principal.kind === 'agent' ? principal.endpoint_id : 'human',
  operation,
  key: idempotency_key ?? input.idempotency_key,
  input,
})
