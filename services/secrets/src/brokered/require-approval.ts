import type { Principal } from '@guildhall/contracts'

interface PlannedCall {
  readonly principal: Principal
  readonly secret: string
  readonly method: string
  readonly host: string
  readonly task_id: number | null
}

/** Throws `approval_required` where the owner must agree to the call first. */
export type RequireApproval = (call: PlannedCall) => Promise<void>

/**
 * Where an owner's consent to a single call is asked for: an agent whose AgentRecord has the tier
 * `supervised` should wait for a decision on exactly this call, in #approvals, and make it again
 * once it is approved. Nothing is refused here yet: a call is bound to what the owner already
 * decided, the secret, its scope and its hosts. It runs after those were checked and before
 * anything is sent, so whatever is refused here has not happened.
 */
export const requireApproval: RequireApproval = async () => undefined
