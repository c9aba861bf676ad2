import {
  type AgentPrincipal,
  type AgentRecord,
  holderName,
  namedError,
  ServiceError,
} from '@guildhall/contracts'
import { transaction } from '@guildhall/db'
import { holdBudgetIn, releaseHoldIn } from './budget.ts'
import { ensureClaimRecord } from './claim-records.ts'
import type { Tasks } from './context.ts'
import { closeLapsed } from './lapse.ts'
import type { GoalRow } from './store/goals.ts'
import { findTask, type TaskKey, type TaskRow } from './store/tasks.ts'
import { claimOf, isHeldBy } from './task-claiming.ts'
import { type TaskItem, taskClaimed } from './task-item.ts'
import { type Awaiting, loadTask } from './verdict.ts'
import { isLeaseOver } from './work-item.ts'

/**
 * One task, many claimers: first the budget is held, under the lock of the goal, then the
 * compare-and-set decides, and whoever loses gives the hold back. In that order there is never a
 * claim without its money; a hold without its claim is what a crash leaves, and is found.
 */

/** Each try loses only to a write of somebody else, so this many means a broken loop. */
const TRIES = 8

interface Claimer {
  readonly principal: AgentPrincipal
  readonly agent: AgentRecord
  readonly lease_ttl_seconds: number | undefined
}

const notApproved = (task_id: number, status: string): ServiceError =>
  namedError('ErrTaskNotApproved', `task ${task_id} is ${status} and cannot be claimed`)

interface Bid extends TaskKey {
  readonly claim_seq: number
  readonly claim_key_hash: string
}

const hold = async (tasks: Tasks, bid: Bid): Promise<void> => {
  await transaction(tasks.db, async (trx) => {
    await holdBudgetIn(trx, bid, new Date(tasks.clock.now()))
    const row = await findTask(trx, bid)
    // Cancelled since: its claim record follows a moment later.
    if (row?.status === 'cancelled') throw notApproved(row.task_id, row.status)
  })
}

/** A claim of another endpoint of the same agent stands on the same hold, which then stays. */
const giveBack = async (tasks: Tasks, bid: Bid): Promise<void> => {
  const present = await loadTask(tasks, bid.owner_user_id, bid.task_id)
  const stands =
    present?.record.state === 'claimed' &&
    present.record.claim_key_hash === bid.claim_key_hash &&
    present.record.attempts_total === bid.claim_seq
  if (!stands) await transaction(tasks.db, (trx) => releaseHoldIn(trx, bid))
}

/** The record is on its way through the outbox, or was lost: whoever comes first makes it. */
const createRecord = async (tasks: Tasks, goal: GoalRow, task: TaskRow): Promise<void> => {
  if (task.status !== 'approved') throw notApproved(task.task_id, task.status)
  await ensureClaimRecord(tasks, {
    owner_id: task.owner_user_id,
    task_id: task.task_id,
    goal_id: task.goal_id,
    slug: goal.slug,
    title: task.title,
    verifier: task.verifier_config,
    approved_at: Date.parse(task.approved_at ?? task.created_at),
    ring: false,
  })
}

const requirePending = (record: TaskItem): void => {
  if (record.state === 'pending') return
  const { task_id } = record.task
  if (record.state !== 'claimed') throw notApproved(task_id, record.state)
  throw namedError('ErrAlreadyClaimed', `task ${task_id} is already claimed`)
}

const race = async (
  tasks: Tasks,
  goal: GoalRow,
  task: TaskRow,
  claimer: Claimer,
): Promise<Awaiting> => {
  const holder = holderName(claimer.principal)
  for (let tried = 0; tried < TRIES; tried += 1) {
    const entry = await loadTask(tasks, task.owner_user_id, task.task_id)
    if (entry === undefined) {
      await createRecord(tasks, goal, task)
      continue
    }
    const { record, revision } = entry
    if (isHeldBy(record, holder, tasks.clock.now())) return entry
    if (isLeaseOver(record, tasks.clock.now())) {
      await closeLapsed(tasks, record, revision)
      continue
    }
    requirePending(record)
    const claim = claimOf(tasks, record, claimer)
    const bid: Bid = {
      owner_user_id: task.owner_user_id,
      task_id: task.task_id,
      claim_seq: record.attempts_total + 1,
      claim_key_hash: claim.claim_key_hash,
    }
    await hold(tasks, bid)
    const next = taskClaimed(record, claim, tasks.clock.now())
    if (next === undefined) throw new Error('a pending task can be claimed')
    const written = await tasks.records.replace(next, revision)
    if (written !== undefined) return { record: next, revision: written }
    await giveBack(tasks, bid)
  }
  throw new ServiceError('unavailable', 'this task changes too fast right now')
}

/** The claim, made now or found to be the caller's already. */
export const takeTask = (
  tasks: Tasks,
  goal: GoalRow,
  task: TaskRow,
  claimer: Claimer,
): Promise<Awaiting> =>
  tasks.turns(`${task.owner_user_id}.${task.task_id}`, () => race(tasks, goal, task, claimer))
