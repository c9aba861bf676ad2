import {
  type AgentPrincipal,
  holdsItem,
  type InputOf,
  namedError,
  type requestResource,
  ServiceError,
} from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import { lockActiveAgent } from './agents.ts'
import { askIn, lockAsker } from './ask.ts'
import type { Call } from './call.ts'
import type { SharedRecords } from './shared-records.ts'
import { findPendingResource, reserveApprovalId, type StoredApproval } from './store/approvals.ts'

/** Unknown, foreign and merely somebody else's: in each case it is no task of the caller. */
export const missingTaskContext = (): ServiceError =>
  namedError(
    'ErrMissingTaskContext',
    'a resource is asked for within a task that you hold or verify',
  )

/** Whether the caller holds the task's lease now, or is the one who gives the verdict. */
export const checkTaskContext = async (
  records: SharedRecords,
  { user_id, agent_id }: AgentPrincipal,
  task_id: number,
  now_ms: number,
): Promise<{ readonly goal_id: number; readonly title: string }> => {
  const task = await records.task(user_id, task_id)
  if (task === undefined) throw missingTaskContext()
  const { goal_id, title } = task
  if (task.verifier_agent_id === agent_id) return { goal_id, title }
  const work = await records.work(user_id, task_id)
  if (work === undefined || !holdsItem(work, agent_id, now_ms)) throw missingTaskContext()
  return { goal_id, title }
}

/** Asking twice for the same, for the same task, is asking once. */
export const requestResourceIn = async (
  trx: Trx,
  call: Call,
  principal: AgentPrincipal,
  task: { readonly goal_id: number; readonly title: string },
  { name, resource_type, reason, task_id }: InputOf<typeof requestResource>,
): Promise<StoredApproval> => {
  const { user_id } = call
  const { agent_id } = principal
  const { name: agent_name } = await lockActiveAgent(trx, { user_id, agent_id })
  const known = await findPendingResource(trx, { user_id, agent_id, resource_name: name, task_id })
  if (known !== undefined) return known
  const asker = await lockAsker(trx, principal)
  const approval = await askIn(trx, call, asker, await reserveApprovalId(trx), {
    kind: 'resource',
    channel: 'requests',
    message_kind: 'resource_request',
    title: `${agent_name} needs ${name}`,
    body: [
      `${agent_name} needs ${name} (${resource_type}) for the task "${task.title}".`,
      `Reason: ${reason}`,
      `To give it, set the secret ${name} for you, for this agent or for this task.`,
    ].join('\n'),
    payload: { name, resource_type, reason, task_id },
    warnings: [],
    goal_id: task.goal_id,
    task_id,
    resource_name: name,
  })
  if (approval === undefined) throw new ServiceError('unavailable', 'asked for at the same time')
  return approval
}
