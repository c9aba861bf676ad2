import type { Handler } from '@guildhall/bus'
import { type claimTask, holderName, namedError, type OutputOf } from '@guildhall/contracts'
import type { Tasks } from '../context.ts'
import { requireClaimable } from '../goal-open.ts'
import { isoSeconds } from '../rows.ts'
import { findGoal } from '../store/goals.ts'
import { findTask, type TaskRow } from '../store/tasks.ts'
import {
  isHeldBy,
  requireActive,
  requireAgent,
  taskNotFound,
  tokenOfClaim,
} from '../task-claiming.ts'
import { followTaskLater } from '../task-effects.ts'
import { takeTask } from '../task-race.ts'
import { type Awaiting, loadTask } from '../verdict.ts'

const answer = (
  tasks: Tasks,
  task: TaskRow,
  holder: string,
  { record, revision }: Awaiting,
): OutputOf<typeof claimTask> => ({
  task_id: task.task_id,
  status: 'claimed',
  claimed_at: new Date(record.open_attempt?.claimed_at ?? record.updated_at).toISOString(),
  item_id: record.id,
  goal_id: task.goal_id,
  lease_token: tokenOfClaim(tasks, record, holder, record.attempts_total),
  lease_expires_at: isoSeconds(record.lease_until ?? record.updated_at),
  fence: record.open_attempt?.fence ?? revision,
  title: task.title,
  description: task.description,
  acceptance_criteria: task.acceptance_criteria,
  ancestry: task.ancestry,
  budget_tokens: task.budget_tokens,
  budget_dollars_cents: task.budget_dollars_cents,
})

/** The order of the checks is part of the contract: what is not yours is not even there. */
export const handleClaimTask =
  (tasks: Tasks): Handler<typeof claimTask> =>
  async (ctx, input) => {
    const owner_user_id = ctx.principal.user_id
    const task = await findTask(tasks.db, { owner_user_id, task_id: input.task_id })
    if (task === undefined) throw taskNotFound(input.task_id)
    const principal = requireAgent(ctx)
    const { agent_id } = principal
    const agent = requireActive(await tasks.agents.findActive(owner_user_id, agent_id))
    const holder = holderName(principal)
    // Asked again by its holder: nothing is taken, so nothing of what follows is asked.
    const known = await loadTask(tasks, owner_user_id, task.task_id)
    if (known !== undefined && isHeldBy(known.record, holder, tasks.clock.now())) {
      return answer(tasks, task, holder, known)
    }
    if (await tasks.standing.isQuarantined(owner_user_id, agent_id)) {
      throw namedError('ErrAgentQuarantined', 'this agent is in quarantine')
    }
    const goal = await findGoal(tasks.db, task)
    if (goal === undefined) throw taskNotFound(input.task_id)
    requireClaimable(goal)
    if (!task.is_leaf) {
      throw namedError('ErrTaskNotApproved', `task ${task.task_id} has subtasks: claim one of them`)
    }
    const { lease_ttl_seconds } = input
    const claim = await takeTask(tasks, goal, task, { principal, agent, lease_ttl_seconds })
    await followTaskLater(tasks, claim)
    await tasks.settle()
    return answer(tasks, task, holder, claim)
  }
