import type { GoalStatus } from '@guildhall/contracts'
import { type Connection, firstRow, query, rowsOf, type Trx } from '@guildhall/db'

/** Goals. The owner stands in every statement that a caller's id leads to. */

export interface GoalRow {
  readonly goal_id: number
  readonly owner_user_id: number
  readonly slug: string
  readonly title: string
  readonly description: string
  readonly status: GoalStatus
  readonly coordinator_agent_id: number
  readonly max_spawn_depth: number
  readonly budget_tokens: number | null
  readonly budget_dollars_cents: number | null
  readonly spent_tokens: number
  readonly spent_dollars_cents: number
  readonly alert_80pct_posted: boolean
  readonly pause_reason: string | null
  readonly completion_summary: string | null
  readonly version: number
  readonly created_at: string
  readonly updated_at: string
  readonly completed_at: string | null
}

/** What open claims reserve of a goal. */
export interface Held {
  readonly held_tokens: number
  readonly held_dollars_cents: number
}

const GOAL_COLUMNS = `goals.goal_id, goals.owner_user_id, goals.slug, goals.title,
  goals.description, goals.status, goals.coordinator_agent_id, goals.max_spawn_depth,
  goals.budget_tokens, goals.budget_dollars_cents, goals.spent_tokens, goals.spent_dollars_cents,
  goals.alert_80pct_posted, goals.pause_reason, goals.completion_summary, goals.version,
  goals.created_at, goals.updated_at, goals.completed_at`

/** Those who race for one claim hold once each; only one will win, so a task counts once. */
const HELD_COLUMNS = `
  (select coalesce(sum(h.tokens), 0)::bigint from (
     select max(tokens) as tokens from budget_holds where budget_holds.goal_id = goals.goal_id
     group by task_id) h) as held_tokens,
  (select coalesce(sum(h.dollars_cents), 0)::bigint from (
     select max(dollars_cents) as dollars_cents from budget_holds
     where budget_holds.goal_id = goals.goal_id group by task_id) h) as held_dollars_cents`

type GoalKey = Pick<GoalRow, 'owner_user_id' | 'goal_id'>

export const findGoal = (
  db: Connection,
  { owner_user_id, goal_id }: GoalKey,
): Promise<(GoalRow & Held) | undefined> =>
  firstRow(
    db,
    `select ${GOAL_COLUMNS}, ${HELD_COLUMNS} from goals
     where owner_user_id = :owner_user_id and goal_id = :goal_id`,
    { owner_user_id, goal_id },
  )

/**
 * The goal, locked until the transaction ends. Whatever changes a goal or a task of it comes through
 * here first: the one order of locks, and so no deadlock, and versions in the order of commits.
 */
export const lockGoalIn = (trx: Trx, key: GoalKey): Promise<(GoalRow & Held) | undefined> =>
  firstRow<GoalRow>(
    trx,
    `select ${GOAL_COLUMNS} from goals
     where owner_user_id = :owner_user_id and goal_id = :goal_id for update`,
    { ...key },
    // Holds are read by a statement of their own: it sees what was committed while this one waited.
  ).then((locked) => (locked === undefined ? undefined : findGoal(trx, key)))

/** For the bucket: the next version of a goal, with what is held. */
export const nextGoalVersionIn = (
  trx: Trx,
  goal_id: number,
): Promise<(GoalRow & Held) | undefined> =>
  firstRow(
    trx,
    `update goals set version = version + 1 where goal_id = :goal_id
     returning ${GOAL_COLUMNS}, ${HELD_COLUMNS}`,
    { goal_id },
  )

/** A page after an id, of all owners: for the reconciler. */
export const goalsAfter = (
  db: Connection,
  after: number,
  limit: number,
): Promise<(GoalRow & Held)[]> =>
  rowsOf(
    db,
    `select ${GOAL_COLUMNS}, ${HELD_COLUMNS} from goals where goal_id > :after
     order by goal_id limit :limit`,
    { after, limit },
  )

export type GoalChanges = Partial<
  Pick<
    GoalRow,
    | 'budget_tokens'
    | 'budget_dollars_cents'
    | 'alert_80pct_posted'
    | 'pause_reason'
    | 'completion_summary'
  >
> & { readonly status?: GoalStatus; readonly completed_at?: Date }

/** False when the status is none of `from`: nothing was changed. */
export const changeGoalIn = async (
  trx: Trx,
  goal_id: number,
  from: readonly GoalStatus[],
  changes: GoalChanges,
  now: Date,
): Promise<boolean> => {
  const changed = await query(() =>
    trx('goals')
      .where({ goal_id })
      .whereIn('status', from)
      .update({ ...changes, updated_at: now }),
  )
  return changed > 0
}

interface NewGoal {
  readonly owner_user_id: number
  readonly title: string
  readonly description: string
  readonly coordinator_agent_id: number
  readonly max_spawn_depth: number
  readonly budget_tokens: number | null
  readonly budget_dollars_cents: number | null
  readonly create_key_hash: string
  readonly create_input_hash: string
  readonly now: Date
}

/** Goals of one owner are made one after the other, so that slugs and keys need no second try. */
export const lockGoalsOfOwnerIn = async (trx: Trx, owner_user_id: number): Promise<void> => {
  await rowsOf(trx, 'select pg_advisory_xact_lock(hashtextextended(:name, 0))', {
    name: `goals.${owner_user_id}`,
  })
}

/** Under that lock: the goal with the first of the slugs that is free; undefined: none is. */
export const insertGoalIn = async (
  trx: Trx,
  goal: NewGoal,
  slugs: readonly string[],
): Promise<number | undefined> => {
  const row = await firstRow<{ goal_id: number }>(
    trx,
    `insert into goals (owner_user_id, slug, title, description, status, coordinator_agent_id,
       max_spawn_depth, budget_tokens, budget_dollars_cents, create_key_hash, create_input_hash,
       created_at, updated_at)
     select :owner_user_id, wanted.slug, :title, :description, 'draft', :coordinator_agent_id,
       :max_spawn_depth, :budget_tokens, :budget_dollars_cents, :create_key_hash,
       :create_input_hash, :now, :now
     from unnest(cast(:slugs as text[])) with ordinality as wanted (slug, place)
     where not exists (select 1 from goals taken
       where taken.owner_user_id = :owner_user_id and taken.slug = wanted.slug)
     order by wanted.place limit 1
     returning goal_id`,
    { ...goal, slugs },
  )
  return row?.goal_id
}

/** The goal that an earlier try of the same call made. */
export const findGoalByKey = (
  db: Connection,
  owner_user_id: number,
  create_key_hash: string,
): Promise<(GoalRow & { readonly create_input_hash: string }) | undefined> =>
  firstRow(
    db,
    `select ${GOAL_COLUMNS}, goals.create_input_hash from goals
     where owner_user_id = :owner_user_id and create_key_hash = :create_key_hash`,
    { owner_user_id, create_key_hash },
  )
