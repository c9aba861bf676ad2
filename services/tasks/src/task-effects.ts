import { domainOf, ServiceError, taskClaimed } from '@guildhall/contracts'
import { addToOutbox, firstTime, transaction } from '@guildhall/db'
import { releaseHoldIn, settleUsageIn } from './budget.ts'
import type { Tasks } from './context.ts'
import { announceTasksIn } from './goal-projection.ts'
import { settleParentsIn } from './parents.ts'
import { followTaskIn, NO_ATTEMPT_LEFT } from './store/follow-task.ts'
import { lockGoalIn } from './store/goals.ts'
import { type TaskRevision, writeTaskItems } from './store/task-items.ts'
import { findTask, type TaskKey } from './store/tasks.ts'
import type { TaskItem } from './task-item.ts'
import { evidenceIn, noticeIn, type Telling, tellMoveIn } from './task-notices.ts'
import { evidenceOfVerdict, evidenceRef, isHeartbeat, type Step, stepsOf } from './task-steps.ts'

/**
 * What follows in PostgreSQL from a write of a task's claim record: its row, the budget, the events.
 * The operation that made the write does this at once; the projection of the bucket does it again,
 * for those that died in between. Each step is made once, whoever comes first: an inbox row of its
 * name stands in the transaction of its effects.
 */

const CONSUMER = 'task-steps'

interface Effect extends Telling {
  readonly record: TaskItem
}

const holderOf = ({ record: { task } }: Effect): { agent_id: number; config_hash: string } => {
  if (task.holder_agent_id === undefined || task.config_hash === undefined) {
    throw new Error('a task that was claimed names its holder')
  }
  return { agent_id: task.holder_agent_id, config_hash: task.config_hash }
}

const keyOf = ({ task: { owner_user_id, task_id } }: Effect): TaskKey => ({
  owner_user_id,
  task_id,
})

const workerOf = (effect: Effect): string => `agent:${holderOf(effect).agent_id}`

const onClaimed = async (effect: Effect): Promise<void> => {
  const { trx, goal, task, record, now } = effect
  await tellMoveIn(effect, { old: 'approved', new: 'in_progress', actor: workerOf(effect) })
  await addToOutbox(trx, {
    subject: taskClaimed.subject,
    key: `${goal.owner_user_id}.task.${task.task_id}`,
    payload: taskClaimed.schema.parse({
      v: 1,
      user_id: goal.owner_user_id,
      goal_id: goal.goal_id,
      task_id: task.task_id,
      agent_id: holderOf(effect).agent_id,
      at: now.getTime(),
    }),
    event_id: `task:${task.task_id}:${record.attempts_total}:claimed`,
  })
}

const onSubmitted = async (effect: Effect): Promise<void> => {
  const { trx, record, now } = effect
  const { report } = record.task
  if (report === undefined) return
  await tellMoveIn(effect, {
    old: 'in_progress',
    new: 'awaiting_verification',
    actor: workerOf(effect),
  })
  await settleUsageIn(
    trx,
    {
      ...keyOf(effect),
      // A claim is handed in once, so its number tells reports apart, and survives a lost bucket.
      revision: record.attempts_total,
      claim_seq: record.attempts_total,
      agent_id: holderOf(effect).agent_id,
      tokens: report.tokens,
      dollars_cents: report.cost_minor,
    },
    now,
  )
}

const releaseHold = (effect: Effect): Promise<void> =>
  releaseHoldIn(effect.trx, { ...keyOf(effect), claim_seq: effect.record.attempts_total })

const lapsedEvidence = async (effect: Effect): Promise<void> => {
  await evidenceIn(effect, {
    ...holderOf(effect),
    domain: domainOf(effect.task.billing_code),
    kind: 'lapsed',
    ref: `task:${effect.task.task_id} lapsed`,
    claim_seq: effect.record.attempts_total,
  })
}

const onReopened = async (
  effect: Effect,
  { outcome }: Extract<Step, { kind: 'reopened' }>,
): Promise<void> => {
  await releaseHold(effect)
  if (outcome === 'lapsed') await lapsedEvidence(effect)
  await tellMoveIn(effect, {
    old: 'in_progress',
    new: 'approved',
    actor: outcome === 'released' ? workerOf(effect) : 'system',
    reason: reopeningReasons[outcome],
  })
}

const reopeningReasons = {
  lapsed: 'the lease ended',
  released: 'released',
  revoked: 'the endpoint was revoked',
  lost: 'the claim was lost',
} as const

const tellCoordinator = async (effect: Effect, reason: string): Promise<void> => {
  const { goal, task } = effect
  await noticeIn(effect, {
    to: { kind: 'agent', agent_id: goal.coordinator_agent_id },
    body: `Task ${task.task_id} "${task.title}" has failed: ${reason}`,
    metadata: { kind: 'task', verdict: 'reject', reason },
  })
}

const onVerified = async (effect: Effect): Promise<void> => {
  const { record, task } = effect
  const { verdict } = record.task
  if (verdict === undefined) return
  const kind = evidenceOfVerdict(record)
  if (kind !== undefined) {
    await evidenceIn(effect, {
      ...holderOf(effect),
      domain: domainOf(task.billing_code),
      kind,
      ref: evidenceRef(record),
      claim_seq: record.attempts_total,
    })
  }
  await tellMoveIn(effect, {
    old: 'awaiting_verification',
    new: verdict.approved ? 'done' : 'failed',
    actor: verdict.by,
    reason: verdict.reason,
  })
  if (!verdict.approved) await tellCoordinator(effect, verdict.reason ?? 'no reason was given')
}

const onExhausted = async (effect: Effect): Promise<void> => {
  const reason = NO_ATTEMPT_LEFT
  await releaseHold(effect)
  const lapsed = effect.record.prior_attempts[0]?.outcome === 'reaped'
  if (lapsed) await lapsedEvidence(effect)
  await tellMoveIn(effect, { old: 'in_progress', new: 'failed', actor: 'system', reason })
  await tellCoordinator(effect, reason)
}

/** Its row was cancelled with the goal, so only the record still tells. */
const beforeCancel = (record: TaskItem): string => {
  if (record.task.report !== undefined) return 'awaiting_verification'
  return record.prior_attempts[0]?.outcome === 'canceled' ? 'in_progress' : 'approved'
}

const onOver = async (effect: Effect, { end }: Extract<Step, { kind: 'over' }>): Promise<void> => {
  if (end === 'verified') await onVerified(effect)
  else if (end === 'exhausted') await onExhausted(effect)
  else {
    await releaseHold(effect)
    await tellMoveIn(effect, {
      old: beforeCancel(effect.record),
      new: 'cancelled',
      actor: 'system',
    })
  }
  await settleParentsIn(effect.trx, keyOf(effect), effect.now)
}

const carryOut = async (effect: Effect, step: Step): Promise<void> => {
  switch (step.kind) {
    case 'claimed':
      return await onClaimed(effect)
    case 'submitted':
      return await onSubmitted(effect)
    case 'reopened':
      return await onReopened(effect, step)
    case 'over':
      return await onOver(effect, step)
  }
}

const followSteps = async (tasks: Tasks, revision: TaskRevision): Promise<void> => {
  const { record } = revision
  const steps = stepsOf(record)
  if (steps.length === 0 || isHeartbeat(record)) return
  const { task_id, goal_id } = record.task
  const key = { owner_user_id: record.owner_id, goal_id, task_id }
  await transaction(tasks.db, async (trx) => {
    const goal = await lockGoalIn(trx, key)
    const task = await findTask(trx, key)
    if (goal === undefined || task === undefined) {
      tasks.log.error({ task_id, goal_id }, 'a claim record without its task')
      return
    }
    await followTaskIn(trx, revision)
    const effect: Effect = { trx, goal, task, record, now: new Date(tasks.clock.now()) }
    let carried_out = 0
    for (const step of steps) {
      if (!(await firstTime(trx, CONSUMER, `${task_id}:${step.name}`))) continue
      await carryOut(effect, step)
      carried_out += 1
    }
    if (carried_out === 0) return
    await announceTasksIn(trx, [task_id])
  })
}

const newestOf = (revisions: readonly TaskRevision[]): TaskRevision[] => {
  const newest = new Map<string, TaskRevision>()
  for (const entry of revisions) {
    const known = newest.get(entry.record.id)
    if (known === undefined || known.revision < entry.revision) newest.set(entry.record.id, entry)
  }
  return [...newest.values()]
}

/** All revisions of a batch in their order; each may hold a step that the next no longer shows. */
export const followTasks = async (
  tasks: Tasks,
  revisions: readonly TaskRevision[],
): Promise<void> => {
  await writeTaskItems(tasks.db, newestOf(revisions))
  for (const revision of revisions) await followSteps(tasks, revision)
}

/** At once, if that is possible; else the projection does it as soon as it is. */
export const followTaskLater = async (tasks: Tasks, revision: TaskRevision): Promise<void> => {
  try {
    await followTasks(tasks, [revision])
  } catch (err) {
    if (!(err instanceof ServiceError) || !err.retryable) throw err
    const { task_id } = revision.record.task
    tasks.log.warn({ err, task_id }, 'what follows from a write is left to the projection')
  }
}
