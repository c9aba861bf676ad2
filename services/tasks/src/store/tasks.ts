import type { Task, TaskStatus, VerifierConfig } from '@guildhall/contracts'
import { type Connection, firstRow, query, rowsOf, type Trx } from '@guildhall/db'
import { openTaskStates, taskStatesBefore } from '../task-state.ts'

/**
 * Tasks of goals. Each change happens under the lock of the goal (lockGoalIn), taken first: a row that
 * is written twice in a transaction has its foreign key looked at, which is a weaker lock on the
 * goal, and two of those that then want the stronger one wait for each other.
 */

export interface TaskRow {
  readonly task_id: number
  readonly goal_id: number
  readonly owner_user_id: number
  readonly parent_task_id: number | null
  readonly approval_id: number
  readonly seq: number
  readonly depth: number
  readonly is_leaf: boolean
  readonly title: string
  readonly description: string
  readonly acceptance_criteria: string | null
  readonly status: TaskStatus
  readonly billing_code: string | null
  readonly budget_tokens: number | null
  readonly budget_dollars_cents: number | null
  readonly spent_tokens: number
  readonly spent_dollars_cents: number
  readonly assignee_agent_id: number | null
  readonly verifier_config: VerifierConfig
  readonly verifier_agent_id: number | null
  readonly result_summary: string | null
  readonly artifact: string | null
  readonly failure_reason: string | null
  readonly ancestry: Task['ancestry']
  /** Of the claim record, as far as this row has followed it. */
  readonly revision: number
  readonly version: number
  readonly created_at: string
  readonly updated_at: string
  readonly approved_at: string | null
  readonly claimed_at: string | null
  readonly started_at: string | null
  readonly completed_at: string | null
}

export const TASK_COLUMNS = `tasks.task_id, tasks.goal_id, tasks.owner_user_id,
  tasks.parent_task_id, tasks.approval_id, tasks.seq, tasks.depth, tasks.is_leaf, tasks.title,
  tasks.description, tasks.acceptance_criteria, tasks.status, tasks.billing_code,
  tasks.budget_tokens, tasks.budget_dollars_cents, tasks.spent_tokens, tasks.spent_dollars_cents,
  tasks.assignee_agent_id, tasks.verifier_config, tasks.verifier_agent_id, tasks.result_summary,
  tasks.artifact, tasks.failure_reason, tasks.ancestry, tasks.revision, tasks.version,
  tasks.created_at, tasks.updated_at, tasks.approved_at, tasks.claimed_at, tasks.started_at,
  tasks.completed_at`

export type TaskKey = Pick<TaskRow, 'owner_user_id' | 'task_id'>

export const findTask = (db: Connection, key: TaskKey): Promise<TaskRow | undefined> =>
  firstRow(
    db,
    `select ${TASK_COLUMNS} from tasks
     where owner_user_id = :owner_user_id and task_id = :task_id`,
    { ...key },
  )

/** Spent and held by a task and everything below it. */
export interface Subtree {
  readonly subtree_spent_tokens: number
  readonly subtree_spent_cents: number
  readonly subtree_held_tokens: number
  readonly subtree_held_cents: number
}

/** `root` is the task whose subtree it is; `first` selects the roots. */
const subtrees = (first: string): string => `
  below as (
    select tasks.task_id as root, tasks.task_id, tasks.spent_tokens, tasks.spent_dollars_cents
    from tasks where ${first}
    union all
    select below.root, tasks.task_id, tasks.spent_tokens, tasks.spent_dollars_cents
    from below join tasks on tasks.parent_task_id = below.task_id
  ),
  held as (
    select task_id, max(tokens) as tokens, max(dollars_cents) as dollars_cents
    from budget_holds where task_id in (select task_id from below) group by task_id
  ),
  subtree as (
    select below.root,
      sum(below.spent_tokens)::bigint as subtree_spent_tokens,
      sum(below.spent_dollars_cents)::bigint as subtree_spent_cents,
      coalesce(sum(held.tokens), 0)::bigint as subtree_held_tokens,
      coalesce(sum(held.dollars_cents), 0)::bigint as subtree_held_cents
    from below left join held on held.task_id = below.task_id
    group by below.root
  )`

const SUBTREE_COLUMNS = `subtree.subtree_spent_tokens, subtree.subtree_spent_cents,
  subtree.subtree_held_tokens, subtree.subtree_held_cents`

/** For the bucket: the next versions of tasks, with what is spent and held below each. */
export const nextTaskVersionsIn = (
  trx: Trx,
  task_ids: readonly number[],
): Promise<(TaskRow & Subtree)[]> =>
  rowsOf(
    trx,
    `with recursive ${subtrees('tasks.task_id = any(:task_ids)')}
     update tasks set version = version + 1 from subtree where subtree.root = tasks.task_id
     returning ${TASK_COLUMNS}, ${SUBTREE_COLUMNS}`,
    { task_ids },
  )

/** The task itself first, then its parents up to the root. */
export const chainOf = (db: Connection, task_id: number): Promise<(TaskRow & Subtree)[]> =>
  rowsOf(
    db,
    `with recursive chain as (
       select task_id, parent_task_id from tasks where task_id = :task_id
       union all
       select tasks.task_id, tasks.parent_task_id
       from chain join tasks on tasks.task_id = chain.parent_task_id
     ),
     ${subtrees('tasks.task_id in (select task_id from chain)')}
     select ${TASK_COLUMNS}, ${SUBTREE_COLUMNS}
     from tasks join subtree on subtree.root = tasks.task_id
     order by tasks.depth desc`,
    { task_id },
  )

/** A page after an id, of all owners: for the reconciler. */
export const tasksAfter = (
  db: Connection,
  after: number,
  limit: number,
): Promise<(TaskRow & Subtree)[]> =>
  rowsOf(
    db,
    `with recursive ${subtrees('tasks.task_id in (select task_id from tasks where task_id > :after order by task_id limit :limit)')}
     select ${TASK_COLUMNS}, ${SUBTREE_COLUMNS}
     from tasks join subtree on subtree.root = tasks.task_id
     order by tasks.task_id`,
    { after, limit },
  )

/** The task and its goal, for whoever has to lock the goal first. */
export const goalOfTask = async (
  db: Connection,
  key: TaskKey,
): Promise<Pick<TaskRow, 'owner_user_id' | 'goal_id'> | undefined> =>
  await firstRow(
    db,
    `select owner_user_id, goal_id from tasks
     where owner_user_id = :owner_user_id and task_id = :task_id`,
    { ...key },
  )

export const childrenOf = (
  db: Connection,
  task_id: number,
): Promise<Pick<TaskRow, 'task_id' | 'status'>[]> =>
  rowsOf(db, 'select task_id, status from tasks where parent_task_id = :task_id order by seq', {
    task_id,
  })

type TaskChanges = Partial<
  Pick<TaskRow, 'assignee_agent_id' | 'result_summary' | 'artifact' | 'failure_reason' | 'revision'>
> & {
  readonly claimed_at?: Date | null
  readonly started_at?: Date | null
  readonly completed_at?: Date
}

/** One step of the state machine; false when the task is not where it could be made from. */
export const moveTaskIn = async (
  trx: Trx,
  task: Pick<TaskRow, 'task_id' | 'is_leaf'>,
  to: TaskStatus,
  changes: TaskChanges,
  now: Date,
): Promise<boolean> => {
  const moved = await query(() =>
    trx('tasks')
      .where({ task_id: task.task_id })
      .whereIn('status', taskStatesBefore(to, task.is_leaf))
      .update({ ...changes, status: to, updated_at: now }),
  )
  return moved > 0
}

/** Every task of a goal that has not ended, leaves and parents alike. */
export const cancelOpenTasksIn = (trx: Trx, goal_id: number, now: Date): Promise<TaskRow[]> =>
  rowsOf(
    trx,
    `update tasks set status = 'cancelled', completed_at = :now, updated_at = :now
     where goal_id = :goal_id and status = any(:open) returning ${TASK_COLUMNS}`,
    { goal_id, now, open: openTaskStates },
  )

export const countOpenTasks = async (db: Connection, goal_id: number): Promise<number> => {
  const row = await firstRow<{ open: number }>(
    db,
    'select count(*) as open from tasks where goal_id = :goal_id and status = any(:open)',
    { goal_id, open: openTaskStates },
  )
  return row?.open ?? 0
}
