import type { GoalStatus, TaskStatus } from '@guildhall/contracts'
import { type Connection, rowsOf } from '@guildhall/db'
import { TASK_COLUMNS, type TaskRow } from './tasks.ts'

/** Reads for lists and overviews: one statement each, however many rows there are. */

interface GoalFilter {
  readonly owner_user_id: number
  readonly status: GoalStatus | undefined
  readonly limit: number
  readonly before_goal_id: number | undefined
}

interface ListedGoal {
  readonly id: number
  readonly slug: string
  readonly title: string
  readonly status: GoalStatus
  readonly owner_user_id: number
  readonly spent_tokens: number
  readonly spent_dollars_cents: number
  readonly task_count: number
  readonly last_activity_at: string
}

export const listGoals = (db: Connection, filter: GoalFilter): Promise<ListedGoal[]> =>
  rowsOf(
    db,
    `select goals.goal_id as id, goals.slug, goals.title, goals.status, goals.owner_user_id,
       goals.spent_tokens, goals.spent_dollars_cents, of_tasks.task_count,
       greatest(goals.updated_at, of_tasks.updated_at) as last_activity_at
     from goals cross join lateral (
       select count(*) as task_count, max(tasks.updated_at) as updated_at
       from tasks where tasks.goal_id = goals.goal_id) of_tasks
     where goals.owner_user_id = :owner_user_id
       and (cast(:status as text) is null or goals.status = :status)
       and (cast(:before_goal_id as bigint) is null or goals.goal_id < :before_goal_id)
     order by goals.goal_id desc limit :limit`,
    {
      owner_user_id: filter.owner_user_id,
      status: filter.status ?? null,
      before_goal_id: filter.before_goal_id ?? null,
      limit: filter.limit,
    },
  )

interface TaskFilter {
  readonly owner_user_id: number
  readonly goal_id: number | undefined
  readonly status: TaskStatus | undefined
  /** Claimable by this caller; null: a human. */
  readonly claimable_by: number | null | undefined
  readonly agent_id: number | undefined
  readonly limit: number
  readonly before_task_id: number | undefined
}

/** Nobody verifies their own work, so a task is not for its verifier. */
const CLAIMABLE = `tasks.status = 'approved' and tasks.is_leaf
  and (cast(:claimable_by as bigint) is null
    or tasks.verifier_agent_id is distinct from :claimable_by)
  and exists (select 1 from goals where goals.goal_id = tasks.goal_id and goals.status = 'active'
    and (goals.budget_tokens is null or goals.spent_tokens < goals.budget_tokens)
    and (goals.budget_dollars_cents is null
      or goals.spent_dollars_cents < goals.budget_dollars_cents))`

export const listTasks = (db: Connection, filter: TaskFilter): Promise<TaskRow[]> => {
  const where = [
    'tasks.owner_user_id = :owner_user_id',
    ...(filter.goal_id === undefined ? [] : ['tasks.goal_id = :goal_id']),
    ...(filter.status === undefined ? [] : ['tasks.status = :status']),
    ...(filter.before_task_id === undefined ? [] : ['tasks.task_id < :before_task_id']),
    ...(filter.agent_id === undefined
      ? []
      : ['(tasks.assignee_agent_id = :agent_id or tasks.verifier_agent_id = :agent_id)']),
    ...(filter.claimable_by === undefined ? [] : [CLAIMABLE]),
  ]
  return rowsOf(
    db,
    `select ${TASK_COLUMNS} from tasks where ${where.join(' and ')}
     order by tasks.task_id desc limit :limit`,
    {
      owner_user_id: filter.owner_user_id,
      goal_id: filter.goal_id ?? null,
      status: filter.status ?? null,
      before_task_id: filter.before_task_id ?? null,
      agent_id: filter.agent_id ?? null,
      claimable_by: filter.claimable_by ?? null,
      limit: filter.limit,
    },
  )
}

/** Depth first, parents before their children. */
export const tasksOfGoal = (db: Connection, goal_id: number, limit: number): Promise<TaskRow[]> =>
  rowsOf(
    db,
    `select ${TASK_COLUMNS} from tasks where tasks.goal_id = :goal_id
     order by tasks.seq limit :limit`,
    { goal_id, limit },
  )

interface BilledCost {
  readonly billing_code: string
  readonly tokens: number
  readonly dollars_cents: number
  readonly task_count: number
}

/** What every tree of a goal has cost, from its roots down. An empty code: tasks without one. */
export const costByBillingCode = (db: Connection, goal_id: number): Promise<BilledCost[]> =>
  rowsOf(
    db,
    `with recursive tree as (
       select task_id, billing_code, spent_tokens, spent_dollars_cents from tasks
       where goal_id = :goal_id and parent_task_id is null
       union all
       select tasks.task_id, tasks.billing_code, tasks.spent_tokens, tasks.spent_dollars_cents
       from tree join tasks on tasks.parent_task_id = tree.task_id
     )
     select coalesce(billing_code, '') as billing_code, sum(spent_tokens)::bigint as tokens,
       sum(spent_dollars_cents)::bigint as dollars_cents, count(*) as task_count
     from tree group by 1 order by 1`,
    { goal_id },
  )

export const assigneesOf = async (db: Connection, goal_id: number): Promise<number[]> => {
  const rows = await rowsOf<{ agent_id: number }>(
    db,
    `select distinct assignee_agent_id as agent_id from tasks
     where goal_id = :goal_id and assignee_agent_id is not null order by 1`,
    { goal_id },
  )
  return rows.map((row) => row.agent_id)
}
