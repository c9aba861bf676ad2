import { Priority, TodoState } from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'

const list = (values: readonly string[]): string => values.map((value) => `'${value}'`).join(', ')

/** The projection of the claim records. Lists and history are read from it, decisions never are. */
export const up = async (trx: Trx): Promise<void> => {
  await trx.raw(`
    create table todos (
      id text primary key,
      owner_id bigint not null,
      queue text not null,
      priority text not null constraint todos_priority_known check (priority in (${list(Priority.options)})),
      state text not null constraint todos_state_known check (state in (${list(TodoState.options)})),
      dead_letter boolean not null,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      claimable_at timestamptz not null,
      lease_until timestamptz,
      next_retry_at timestamptz,
      holder_endpoint_id text,
      claim_key_hash text,
      attempts_total integer not null,
      -- The claim record without its result and history.
      record jsonb not null,
      -- Of the record in the bucket: a lower one never replaces a higher one.
      revision bigint not null,
      rings_done integer not null default 0,
      next_ring_at timestamptz
    )`)
  // list_todos: an owner's items, newest first, by queue and state.
  await trx.raw('create index todos_newest on todos (owner_id, created_at desc, id desc)')
  await trx.raw(
    'create index todos_by_queue on todos (owner_id, queue, state, created_at desc, id desc)',
  )
  // The sweep: leases that ended, retries that are due, rings that are due.
  await trx.raw(`create index todos_leases on todos (lease_until) where state = 'claimed'`)
  await trx.raw(
    `create index todos_retries on todos (next_retry_at) where state = 'failed' and next_retry_at is not null`,
  )
  await trx.raw(
    `create index todos_rings on todos (next_ring_at) where state = 'pending' and next_ring_at is not null`,
  )
  // claim_next repeated after a lost answer; claims of a revoked endpoint.
  await trx.raw(
    `create index todos_claim_key on todos (owner_id, claim_key_hash) where claim_key_hash is not null`,
  )
  await trx.raw(`create index todos_holder on todos (holder_endpoint_id) where state = 'claimed'`)
  // Retention.
  await trx.raw(
    `create index todos_finished on todos (updated_at) where state = 'done' or dead_letter`,
  )
  await trx.raw(`
    create table attempts (
      todo_id text not null constraint attempts_todo_fkey references todos (id) on delete cascade,
      seq integer not null,
      endpoint_id text,
      attempt jsonb not null,
      revision bigint not null,
      constraint attempts_pkey primary key (todo_id, seq)
    )`)
  // Payloads that no delivery holds: what create_todo was given, kept until its todo is finished.
  await trx.raw(`
    create table payloads (
      todo_id text primary key constraint payloads_todo_fkey references todos (id) on delete cascade,
      body bytea not null
    )`)
  await trx.raw(`
    create table rings (
      todo_id text not null,
      owner_id bigint not null,
      endpoint_id text not null,
      rung_at timestamptz not null,
      constraint rings_pkey primary key (todo_id, endpoint_id, rung_at)
    )`)
  await trx.raw('create index rings_by_age on rings (rung_at)')
}
