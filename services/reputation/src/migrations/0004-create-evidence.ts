import { EvidenceKind } from '@guildhall/contracts'
import type { Migration } from '@guildhall/db'
import { checkList } from './check-list.ts'

const kinds = checkList(EvidenceKind.options.filter((kind) => kind !== 'seed'))

/**
 * The ledger of what agents did, what each configuration started from, and the score of both. The
 * first two are only ever added to: a trigger refuses anything else, and so do the privileges of
 * the role that the service runs as.
 */
export const createEvidence: Migration = {
  up: async (trx) => {
    await trx.raw(`
      create table evidence (
        evidence_id bigint generated always as identity,
        -- of the message that brought it: the same one counts once
        event_id text not null,
        user_id bigint not null,
        agent_id bigint not null,
        config_hash text not null,
        domain text not null,
        kind text not null,
        outcome double precision not null,
        weight double precision not null,
        ref text not null,
        at timestamptz not null,
        constraint evidence_pkey primary key (evidence_id),
        constraint evidence_event_id_key unique (event_id),
        constraint evidence_kind_check check (kind in (${kinds})),
        constraint evidence_outcome_check check (outcome between 0 and 1),
        constraint evidence_weight_check check (weight > 0 and weight <= 1000)
      );

      -- for the recomputation, page by page
      create index evidence_of_score on evidence (user_id, config_hash, domain, evidence_id);

      create table seeds (
        user_id bigint not null,
        config_hash text not null,
        domain text not null,
        prior double precision not null,
        from_config_hash text not null,
        at timestamptz not null,
        constraint seeds_pkey primary key (user_id, config_hash, domain),
        constraint seeds_prior_check check (prior between 0 and 1)
      );

      create function refuse_change() returns trigger language plpgsql as $$
        begin
          raise exception '% is append only', tg_table_name;
        end
      $$;

      create trigger evidence_append_only before update or delete on evidence
        for each row execute function refuse_change();
      create trigger evidence_no_truncate before truncate on evidence
        for each statement execute function refuse_change();
      create trigger seeds_append_only before update or delete on seeds
        for each row execute function refuse_change();
      create trigger seeds_no_truncate before truncate on seeds
        for each statement execute function refuse_change();

      revoke update, delete, truncate on evidence, seeds from current_user;

      create table scores (
        user_id bigint not null,
        config_hash text not null,
        domain text not null,
        prior double precision not null,
        seeded boolean not null,
        -- decayed to as_of, the time of the newest row; the epoch while there is none
        weight_sum double precision not null,
        outcome_sum double precision not null,
        as_of timestamptz not null,
        score double precision not null,
        evidence_count integer not null,
        constraint scores_pkey primary key (user_id, config_hash, domain),
        constraint scores_score_check check (score between 0 and 1)
      );
    `)
  },
}
