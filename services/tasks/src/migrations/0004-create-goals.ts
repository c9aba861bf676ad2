import {
  GoalStatus,
  SPAWN_DEPTH_MAX,
  TaskStatus,
  TodoState,
  TREE_DEPTH_MAX,
} from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'

const list = (values: readonly string[]): string => values.map((value) => `'${value}'`).join(', ')

/**
 * Goals and the tasks below them. PostgreSQL is the authority on both, except for who holds a task:
 * that its claim record decides, and `revision` says which write of it a row has seen.
 */
export const up = async (trx: Trx): Promise<void> => {
  // A database that is older than tasks knows fewer states.
  await trx.raw('alter table todos drop constraint todos_state_known')
  await trx.raw(
    `alter table todos add constraint todos_state_known check (state in (${list(TodoState.options)}))`,
  )
  await trx.raw(`
    create table goals (
      goal_id bigint generated always as identity primary key,
      owner_user_id bigint not null,
      slug text not null,
      title text not null,
      description text not null,
      status text not null constraint goals_status_known check (status in (${list(GoalStatus.options)})),
      coordinator_agent_id bigint not null,
      max_spawn_depth integer not null
        constraint goals_spawn_depth check (max_spawn_depth between 1 and ${SPAWN_DEPTH_MAX}),
      -- Null: no cap. 0: a cap of zero.
      budget_tokens bigint constraint goals_budget_tokens check (budget_tokens >= 0),
      budget_dollars_cents bigint constraint goals_budget_cents check (budget_dollars_cents >= 0),
      spent_tokens bigint not null default 0 constraint goals_spent_tokens check (spent_tokens >= 0),
      spent_dollars_cents bigint not null default 0
        constraint goals_spent_cents check (spent_dollars_cents >= 0),
      alert_80pct_posted boolean not null default false,
      pause_reason text,
      completion_summary text,
      -- Of the call that made it: its repeat finds this goal.
      create_key_hash text not null,
      create_input_hash text not null,
      -- Of the entry in the bucket: grows with every change.
      version bigint not null default 1,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      completed_at timestamptz,
      constraint goals_slug_unique unique (owner_user_id, slug),
      constraint goals_create_key_unique unique (owner_user_id, create_key_hash)
    )`)
  // list_goals: an owner's goals, newest first.
  await trx.raw('create index goals_newest on goals (owner_user_id, goal_id desc)')
  await trx.raw(`
    create table tasks (
      task_id bigint generated always as identity primary key,
      goal_id bigint not null constraint tasks_goal_fkey references goals (goal_id),
      owner_user_id bigint not null,
      parent_task_id bigint constraint tasks_parent_fkey references tasks (task_id),
      -- The approval whose tree it came with.
      approval_id bigint not null,
      -- Place in the goal, depth first, parents before their children; later trees come after.
      seq integer not null,
      depth integer not null constraint tasks_depth check (depth between 0 and ${TREE_DEPTH_MAX}),
      is_leaf boolean not null,
      title text not null,
      description text not null,
      acceptance_criteria text,
      status text not null constraint tasks_status_known check (status in (${list(TaskStatus.options)})),
      billing_code text,
      budget_tokens bigint constraint tasks_budget_tokens check (budget_tokens >= 0),
      budget_dollars_cents bigint constraint tasks_budget_cents check (budget_dollars_cents >= 0),
      spent_tokens bigint not null default 0 constraint tasks_spent_tokens check (spent_tokens >= 0),
      spent_dollars_cents bigint not null default 0
        constraint tasks_spent_cents check (spent_dollars_cents >= 0),
      assignee_agent_id bigint,
      verifier_config jsonb not null,
      verifier_agent_id bigint,
      result_summary text,
      artifact text,
      failure_reason text,
      -- From the root to the parent as they were then: never written again.
      ancestry jsonb not null,
      -- Of the claim record, as far as this row has followed it.
      revision bigint not null default 0,
      version bigint not null default 1,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      approved_at timestamptz,
      claimed_at timestamptz,
      started_at timestamptz,
      completed_at timestamptz,
      constraint tasks_seq_unique unique (goal_id, seq)
    )`)
  // Children of a task: roll-ups, parents.
  await trx.raw('create index tasks_children on tasks (parent_task_id)')
  // list_tasks: an owner's tasks, newest first, also by status.
  await trx.raw('create index tasks_newest on tasks (owner_user_id, task_id desc)')
  await trx.raw('create index tasks_by_status on tasks (owner_user_id, status, task_id desc)')
  // list_tasks with mine.
  await trx.raw(
    'create index tasks_by_assignee on tasks (assignee_agent_id, task_id desc) where assignee_agent_id is not null',
  )
  await trx.raw(
    'create index tasks_by_verifier on tasks (verifier_agent_id, task_id desc) where verifier_agent_id is not null',
  )
  await trx.raw(`
    create table goal_events (
      event_id bigint generated always as identity primary key,
      goal_id bigint not null constraint goal_events_goal_fkey references goals (goal_id),
      sender text not null,
      kind text not null,
      body text not null,
      created_at timestamptz not null
    )`)
  // get_goal: the newest events.
  await trx.raw('create index goal_events_newest on goal_events (goal_id, event_id desc)')
  await trx.raw(`
    create table budget_holds (
      task_id bigint not null constraint budget_holds_task_fkey references tasks (task_id),
      goal_id bigint not null constraint budget_holds_goal_fkey references goals (goal_id),
      -- Which claim of the task it is for, and of whom: those who race for one claim hold once each,
      -- and together they count once.
      claim_seq integer not null,
      claim_key_hash text not null,
      tokens bigint not null constraint budget_holds_tokens check (tokens >= 0),
      dollars_cents bigint not null constraint budget_holds_cents check (dollars_cents >= 0),
      created_at timestamptz not null,
      constraint budget_holds_pkey primary key (task_id, claim_seq, claim_key_hash)
    )`)
  await trx.raw('create index budget_holds_by_goal on budget_holds (goal_id)')
  await trx.raw(`
    create table task_usage (
      task_id bigint not null constraint task_usage_task_fkey references tasks (task_id),
      -- Of the claim record that reported it, so that it counts once.
      revision bigint not null,
      goal_id bigint not null,
      agent_id bigint,
      tokens bigint not null constraint task_usage_tokens check (tokens >= 0),
      dollars_cents bigint not null constraint task_usage_cents check (dollars_cents >= 0),
      recorded_at timestamptz not null,
      constraint task_usage_pkey primary key (task_id, revision)
    )`)
}
