import type { Principal } from '@guildhall/contracts'

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
