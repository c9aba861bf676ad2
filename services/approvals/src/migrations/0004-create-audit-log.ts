import type { Migration } from '@guildhall/db'

/** What was done, and which calls with a key were done already. */
export const createAuditLog: Migration = {
  up: async (trx) => {
    await trx.raw(`
      create table audit_log (
        audit_id bigint generated always as identity,
        at timestamptz not null,
        -- whose records this is about; null: nobody that is known
        user_id integer,
        actor text not null,
        action text not null,
        object text not null,
        details jsonb not null,
        request_id text not null,
        constraint audit_log_pkey primary key (audit_id)
      );

      create function refuse_audit_change() returns trigger language plpgsql as $$
        begin
          raise exception 'audit_log is append only';
        end
      $$;

      create trigger audit_log_append_only before update or delete on audit_log
        for each row execute function refuse_audit_change();
      create trigger audit_log_no_truncate before truncate on audit_log
        for each statement execute function refuse_audit_change();

      create table idempotent_calls (
        caller text not null,
        operation text not null,
        key_hash text not null,
        input_hash text not null,
        -- what the first call made or changed; the answer to a repeat is built from it
        object_id text not null,
        -- part of what a token is computed from: once this row is swept, nobody can compute it
        salt text not null,
        created_at timestamptz not null,
        constraint idempotent_calls_pkey primary key (caller, operation, key_hash)
      );

      -- for the sweep of old keys
      create index idempotent_calls_created_at on idempotent_calls (created_at);
    `)
  },
}
