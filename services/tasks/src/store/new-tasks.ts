import type { Trx } from '@guildhall/db'
import { rowsOf } from '@guildhall/db'
import { type PlannedTask, verifierOf } from '../tree-plan.ts'

/** Making the rows of an approved tree. */

/** Ids are taken first, since each row names those above it. */
export const reserveTaskIdsIn = async (trx: Trx, count: number): Promise<number[]> => {
  const rows = await rowsOf<{ id: number }>(
    trx,
    `select nextval(pg_get_serial_sequence('tasks', 'task_id')) as id
     from generate_series(1, cast(:count as integer))`,
    { count },
  )
  return rows.map((row) => row.id).sort((a, b) => a - b)
}

interface Tree {
  readonly goal_id: number
  readonly owner_user_id: number
  readonly approval_id: number
  readonly tasks: readonly PlannedTask[]
  readonly now: Date
}

const rowOf = ({ node, ...task }: PlannedTask, i: number) => ({
  ...task,
  place: i + 1,
  title: node.title,
  description: node.description,
  acceptance_criteria: node.acceptance_criteria ?? null,
  billing_code: node.billing_code ?? null,
  budget_tokens: node.budget_tokens ?? null,
  budget_dollars_cents: node.budget_dollars_cents ?? null,
  verifier_config: verifierOf(node),
  verifier_agent_id: node.verifier_config?.agent_id ?? null,
})

/** All of a tree in one statement, after the trees that the goal has. */
export const insertTreeIn = async (
  trx: Trx,
  { goal_id, owner_user_id, approval_id, tasks, now }: Tree,
): Promise<void> => {
  await rowsOf(
    trx,
    `insert into tasks (task_id, goal_id, owner_user_id, parent_task_id, approval_id, seq, depth,
       is_leaf, title, description, acceptance_criteria, status, billing_code, budget_tokens,
       budget_dollars_cents, verifier_config, verifier_agent_id, ancestry, created_at, updated_at,
       approved_at)
     overriding system value
     select r.task_id, :goal_id, :owner_user_id, r.parent_task_id, :approval_id,
       r.place + (select coalesce(max(seq), 0) from tasks where goal_id = :goal_id), r.depth,
       r.is_leaf, r.title, r.description, r.acceptance_criteria, 'approved', r.billing_code,
       r.budget_tokens, r.budget_dollars_cents, r.verifier_config, r.verifier_agent_id, r.ancestry,
       :now, :now, :now
     from jsonb_to_recordset(cast(:rows as jsonb)) as r (task_id bigint, parent_task_id bigint,
       place integer, depth integer, is_leaf boolean, title text, description text,
       acceptance_criteria text, billing_code text, budget_tokens bigint,
       budget_dollars_cents bigint, verifier_config jsonb, verifier_agent_id bigint,
       ancestry jsonb)
     order by r.place`,
    { goal_id, owner_user_id, approval_id, now, rows: JSON.stringify(tasks.map(rowOf)) },
  )
}
