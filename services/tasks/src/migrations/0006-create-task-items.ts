import { TodoState } from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'

const list = (values: readonly string[]): string => values.map((value) => `'${value}'`).join(', ')

/**
 * The projection of the claim records of tasks: apart from `todos`, so that no list, depth or
 * retention of a queue ever meets one. What a task is to its goal stands in `tasks`.
 */
export const up = async (trx: Trx): Promise<void> => {
  await trx.raw(`
    create table task_items (
      owner_user_id bigint not null,
      task_id bigint not null,
      state text not null
        constraint task_items_state_known check (state in (${list(TodoState.options)})),
      lease_until timestamptz,
      holder_endpoint_id text,
      -- When the verifier is to be asked, asked again or given up. Null: nobody is waited for.
      verify_at timestamptz,
      verify_tries integer not null default 0,
      record jsonb not null,
      -- Of the record in the bucket: a lower one never replaces a higher one.
      revision bigint not null,
      constraint task_items_pkey primary key (owner_user_id, task_id)
    )`)
  // The sweep: leases that ended, verifiers that are due.
  await trx.raw(
    `create index task_items_leases on task_items (lease_until) where state = 'claimed'`,
  )
  await trx.raw(
    'create index task_items_verifiers on task_items (verify_at) where verify_at is not null',
  )
  // Claims of a revoked endpoint.
  await trx.raw(
    `create index task_items_holder on task_items (holder_endpoint_id) where state = 'claimed'`,
  )
  // Holds that no claim stands behind any more.
  await trx.raw('create index budget_holds_by_age on budget_holds (created_at)')
}
