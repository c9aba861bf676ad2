import type { Migration } from '@guildhall/db'

/**
 * Each owner's rows form a chain: a row's hash is taken over the hash before it and the row, so that
 * nothing can be changed, removed or put in between without the rows after it saying so.
 *
 * A row takes its place as its transaction commits, in a deferred trigger. So the head of a chain is
 * locked for that moment only, after everything else that the transaction locks: owners never wait
 * for each other, and no two transactions of one owner can wait for each other in a circle.
 */
export const chainAuditLog: Migration = {
  up: async (trx) => {
    await trx.raw(`
      alter table audit_log add column seq bigint, add column hash text,
        add constraint audit_log_chain_check check ((seq is null) = (hash is null));

      create table audit_heads (
        -- user_id; 0 is the chain of what concerns nobody that is known
        chain integer not null,
        seq bigint not null,
        hash text not null,
        constraint audit_heads_pkey primary key (chain)
      );

      create or replace function refuse_audit_change() returns trigger language plpgsql as $$
        begin
          if tg_op = 'UPDATE' then
            -- the one change that a row ever sees: it takes its place
            if old.seq is null and new.seq is not null
              and to_jsonb(new) - 'seq' - 'hash' = to_jsonb(old) - 'seq' - 'hash'
            then
              return new;
            end if;
          end if;
          raise exception 'audit_log is append only';
        end
      $$;

      create function chain_audit_entry(entry audit_log) returns void language plpgsql as $$
        declare
          head audit_heads;
          next_hash text;
        begin
          -- the head as it was, but for its number, and locked
          insert into audit_heads (chain, seq, hash)
            values (coalesce(entry.user_id, 0), 1, repeat('0', 64))
            on conflict (chain) do update set seq = audit_heads.seq + 1
            returning * into head;
          next_hash := encode(sha256(convert_to(head.hash || jsonb_build_array(
            head.seq, entry.audit_id, cast(extract(epoch from entry.at) * 1000000 as bigint),
            entry.user_id, entry.actor, entry.action, entry.object, entry.details,
            entry.request_id)::text, 'UTF8')), 'hex');
          update audit_log set seq = head.seq, hash = next_hash where audit_id = entry.audit_id;
          update audit_heads set hash = next_hash where chain = head.chain;
        end
      $$;

      create function chain_audit_row() returns trigger language plpgsql as $$
        begin
          perform chain_audit_entry(new);
          return null;
        end
      $$;

      -- rows from before there was a chain, in the order in which they came
      do $$
        declare
          entry audit_log;
        begin
          for entry in select * from audit_log order by audit_id loop
            perform chain_audit_entry(entry);
          end loop;
        end
      $$;

      create constraint trigger audit_log_chain after insert on audit_log
        deferrable initially deferred for each row execute function chain_audit_row();

      -- for list_audit, the walk along a chain, and rows that have no place in it
      create unique index audit_log_chain_key on audit_log (coalesce(user_id, 0), seq);
      -- for list_audit by actor and by action
      create index audit_log_by_actor on audit_log (coalesce(user_id, 0), actor, seq);
      create index audit_log_by_action on audit_log (coalesce(user_id, 0), action, seq);
    `)
  },
}
