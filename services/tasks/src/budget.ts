import { type GoalStatus, namedError, usageRecorded } from '@guildhall/contracts'
import { addToOutbox, type Trx } from '@guildhall/db'
import { alertIn, pauseIn, tellUsedUpIn } from './budget-lines.ts'
import { announceGoalChangeIn } from './goal-news.ts'
import { announceGoalIn, announceTasksIn } from './goal-projection.ts'
import {
  goalPurses,
  isOverdrawn,
  isUsedUp,
  type Purses,
  percentOfBudget,
  taskPurses,
} from './purses.ts'
import { findGoal, type GoalRow, type Held, lockGoalIn } from './store/goals.ts'
import { addHoldIn, removeHoldsIn } from './store/holds.ts'
import { chainOf, goalOfTask, type TaskKey, type TaskRow } from './store/tasks.ts'
import { addUsageIn } from './store/usage.ts'

/**
 * Budgets. What work costs is known only when it is handed in, so a claim first holds an estimate
 * (what is left of the task's own budget), and handing in replaces it by what was reported. All of it
 * happens under the lock of the goal, so two claims cannot both take the last of a budget, and two
 * reports that cross a line together cross it once. No cap is null; 0 is a cap of zero.
 */

const refuseOverdraft = (
  whose: string,
  purses: Purses,
  details: Readonly<Record<string, number>>,
): void => {
  for (const [unit, purse] of Object.entries(purses)) {
    if (!isUsedUp(purse) && !isOverdrawn(purse)) continue
    const { cap, spent, held } = purse
    throw namedError(
      'ErrGoalBudgetExceeded',
      `the budget of ${whose} does not suffice: ${cap} ${unit}, of which ${spent} are spent and ${held} would be held`,
      { details: { ...details, unit, budget: cap, spent, held } },
    )
  }
}

const estimate = (budget: number | null, spent: number): number =>
  budget === null ? 0 : Math.max(0, budget - spent)

const rereadGoal = async (trx: Trx, goal: GoalRow): Promise<GoalRow & Held> => {
  const again = await findGoal(trx, goal)
  if (again === undefined) throw new Error('a goal that is locked exists')
  return again
}

const lockGoalOf = async (trx: Trx, key: TaskKey): Promise<GoalRow & Held> => {
  const goal_key = await goalOfTask(trx, key)
  const goal = goal_key === undefined ? undefined : await lockGoalIn(trx, goal_key)
  if (goal === undefined) throw namedError('ErrTaskNotFound', 'no such task')
  return goal
}

/** Refuses work on a goal that is not active; one that was paused by its budget says so. */
export const requireActive = (goal: GoalRow): void => {
  if (goal.status === 'active') return
  const share = percentOfBudget(goal)
  if (goal.status === 'paused' && share !== null && share >= 100) {
    throw namedError('ErrGoalBudgetExceeded', 'the goal is paused: its budget is used up', {
      details: { goal_id: goal.goal_id },
    })
  }
  throw namedError('ErrGoalNotActive', `the goal is ${goal.status}`, {
    details: { goal_id: goal.goal_id, status: goal.status },
  })
}

interface Claimant extends TaskKey {
  /** Number of the claim that is about to be made: attempts_total of its record, plus one. */
  readonly claim_seq: number
  readonly claim_key_hash: string
}

/** Where the goal's holds are other than `before`, others are told. */
const announceHoldsIn = async (
  trx: Trx,
  before: GoalRow & Held,
  after: GoalRow & Held,
  chain: readonly TaskRow[],
): Promise<void> => {
  const same =
    before.held_tokens === after.held_tokens &&
    before.held_dollars_cents === after.held_dollars_cents
  if (same) return
  await announceGoalIn(trx, after.goal_id)
  await announceTasksIn(
    trx,
    chain.map((task) => task.task_id),
  )
}

/**
 * Holds the estimate for a claim that is about to be made. Throws ErrTaskNotFound, ErrGoalNotActive
 * or ErrGoalBudgetExceeded; the caller's transaction then ends without a trace.
 */
export const holdBudgetIn = async (
  trx: Trx,
  { claim_seq, claim_key_hash, ...key }: Claimant,
  now: Date,
): Promise<void> => {
  const before = await lockGoalOf(trx, key)
  requireActive(before)
  const [task] = await chainOf(trx, key.task_id)
  if (task === undefined) throw namedError('ErrTaskNotFound', 'no such task')
  await addHoldIn(trx, {
    task_id: task.task_id,
    goal_id: task.goal_id,
    claim_seq,
    claim_key_hash,
    tokens: estimate(task.budget_tokens, task.spent_tokens),
    dollars_cents: estimate(task.budget_dollars_cents, task.spent_dollars_cents),
    now,
  })
  // Checked with the hold in place, so that those who race for this task count once.
  const after = await rereadGoal(trx, before)
  refuseOverdraft('the goal', goalPurses(after), { goal_id: after.goal_id })
  const chain = await chainOf(trx, key.task_id)
  for (const { task_id, ...rest } of chain) {
    refuseOverdraft(`task ${task_id}`, taskPurses({ task_id, ...rest }), { task_id })
  }
  await announceHoldsIn(trx, before, after, chain)
}

/**
 * Gives back what was held: of one claimant who lost, or, without a key, of every claim of the task
 * up to this one. A repeat changes nothing.
 */
export const releaseHoldIn = async (
  trx: Trx,
  {
    claim_seq,
    claim_key_hash,
    ...key
  }: Omit<Claimant, 'claim_key_hash'> & {
    readonly claim_key_hash?: string | undefined
  },
): Promise<void> => {
  const before = await lockGoalOf(trx, key)
  const removed = await removeHoldsIn(trx, key.task_id, claim_seq, claim_key_hash)
  if (removed.length === 0) return
  const after = await rereadGoal(trx, before)
  await announceHoldsIn(trx, before, after, await chainOf(trx, key.task_id))
}

interface ReportedUsage extends TaskKey {
  /** Of the claim record that reported it. */
  readonly revision: number
  readonly claim_seq: number
  readonly agent_id: number | null
  readonly tokens: number
  readonly dollars_cents: number
}

const recordedIn = async (
  trx: Trx,
  goal: GoalRow,
  task: TaskRow,
  usage: ReportedUsage,
  now: Date,
): Promise<void> => {
  if (usage.agent_id === null || usage.tokens + usage.dollars_cents === 0) return
  await addToOutbox(trx, {
    subject: usageRecorded.subject,
    key: `${goal.owner_user_id}.usage.${task.task_id}`,
    event_id: `usage-${goal.owner_user_id}-${task.task_id}-${usage.revision}`,
    payload: usageRecorded.schema.parse({
      v: 1,
      user_id: goal.owner_user_id,
      goal_id: goal.goal_id,
      task_id: task.task_id,
      agent_id: usage.agent_id,
      billing_code: task.billing_code,
      tokens: usage.tokens,
      cost_minor: usage.dollars_cents,
      currency: 'USD',
      self_reported: true,
      at: now.getTime(),
    }),
  })
}

export interface Settled {
  /** False: this revision was settled before, and nothing was changed now. */
  readonly recorded: boolean
  readonly goal_status: GoalStatus
}

/**
 * Records what a task cost, once per revision of its claim record, and gives back what was held for
 * it. Over 80 % the goal's channel is told, once; at 100 % the goal is paused and its owner is told,
 * in this transaction. What was spent beyond a cap is recorded all the same.
 */
export const settleUsageIn = async (
  trx: Trx,
  usage: ReportedUsage,
  now: Date,
): Promise<Settled> => {
  const { task_id, owner_user_id } = usage
  const before = await lockGoalOf(trx, { task_id, owner_user_id })
  const { revision, agent_id, tokens, dollars_cents } = usage
  const { goal_id } = before
  const recorded = await addUsageIn(trx, {
    task_id,
    goal_id,
    revision,
    agent_id,
    tokens,
    dollars_cents,
    now,
  })
  if (!recorded) return { recorded, goal_status: before.status }
  await removeHoldsIn(trx, task_id, usage.claim_seq, undefined)
  const after = await rereadGoal(trx, before)
  const chain = await chainOf(trx, task_id)
  const [task] = chain
  if (task !== undefined) await recordedIn(trx, after, task, usage, now)
  await tellUsedUpIn(trx, after, chain, usage, now)
  await alertIn(trx, after, now)
  const paused = await pauseIn(trx, after, now)
  const goal = await announceGoalIn(trx, goal_id)
  if (paused) await announceGoalChangeIn(trx, goal, 'paused', now)
  await announceTasksIn(
    trx,
    chain.map(({ task_id: id }) => id),
  )
  return { recorded, goal_status: goal.status }
}
