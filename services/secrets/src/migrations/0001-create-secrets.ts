import { SecretScope } from '@guildhall/contracts'
import { inboxMigration, outboxMigration, type Trx } from '@guildhall/db'

const scopes = SecretScope.options.map((scope) => `'${scope}'`).join(', ')

export const up = async (trx: Trx): Promise<void> => {
  await trx.raw(`
    create table secrets (
      secret_id bigint generated always as identity primary key,
      user_id bigint not null,
      scope_type text not null,
      scope_id bigint not null,
      name text not null,
      version integer not null,
      hosts jsonb not null,
      master_key_id text,
      -- the data key, under the master key
      wrapped_key bytea,
      -- the value, under the data key
      sealed bytea,
      created_at timestamptz not null,
      revoked_at timestamptz,
      last_used_at timestamptz,
      -- hashes of the idempotency keys of the calls that made and ended it
      set_key_hash text,
      revoke_key_hash text,
      constraint secrets_scope_type_known check (scope_type in (${scopes})),
      constraint secrets_user_scope_is_own check (scope_type <> 'user' or scope_id = user_id),
      constraint secrets_name_form check (name ~ '^[A-Z0-9_]{1,100}$'),
      constraint secrets_version_positive check (version > 0),
      constraint secrets_hosts_list check (jsonb_typeof(hosts) = 'array'),
      constraint secrets_version_unique unique (user_id, scope_type, scope_id, name, version),
      -- what is revoked is gone, also for whoever gets hold of a master key later
      constraint secrets_sealed_while_active check (
        case when revoked_at is null
          then num_nulls(master_key_id, wrapped_key, sealed) = 0
          else num_nonnulls(master_key_id, wrapped_key, sealed) = 0
        end)
    );
    -- one active secret per name and scope; also finds those of a scope
    create unique index secrets_one_active on secrets (user_id, scope_type, scope_id, name)
      where revoked_at is null;
    -- a repeated set or rotate finds what the first one made
    create unique index secrets_by_set_key on secrets (user_id, set_key_hash)
      where set_key_hash is not null;
    -- the rotation of the master key, page by page
    create index secrets_by_master_key on secrets (master_key_id, secret_id)
      where revoked_at is null;

    -- Requests for a resource that were not settled yet, so that their names can be shown.
    create table resource_requests (
      approval_id bigint primary key,
      user_id bigint not null,
      agent_id bigint,
      task_id bigint,
      name text,
      requested_at timestamptz,
      -- null: still waiting. A row may be closed before its request arrives.
      closed_at timestamptz
    );
    -- list_resources and list_secrets
    create index resource_requests_open on resource_requests (user_id, name)
      where closed_at is null;
    -- the hourly clean-up
    create index resource_requests_closed on resource_requests (closed_at)
      where closed_at is not null;

    -- Calls made with a secret, by idempotency key. Only the answer without the secret is kept.
    create table calls (
      user_id bigint not null,
      caller text not null,
      key_hash text not null,
      input_hash text not null,
      state text not null,
      answer text,
      started_at timestamptz not null,
      constraint calls_pkey primary key (user_id, caller, key_hash),
      constraint calls_state_known check (state in ('started', 'finished')),
      constraint calls_answer_when_finished check ((state = 'finished') = (answer is not null))
    );
    -- the hourly clean-up
    create index calls_by_age on calls (started_at);
  `)
  await outboxMigration(trx)
  await inboxMigration(trx)
}
