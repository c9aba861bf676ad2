import type { Migration } from '@guildhall/db'

/** Who is quarantined. No row: nobody ever was. */
export const createStanding: Migration = {
  up: async (trx) => {
    await trx.raw(`
      create table standing (
        user_id bigint not null,
        agent_id bigint not null,
        quarantined boolean not null,
        since timestamptz not null,
        reason text,
        -- after this only evidence against it can quarantine it again
        lifted_at timestamptz,
        version integer not null,
        constraint standing_pkey primary key (user_id, agent_id),
        constraint standing_reason_check check (quarantined = (reason is not null)),
        constraint standing_version_check check (version > 0)
      );
    `)
  },
}
