import { AgentRecord } from '@guildhall/contracts'
import type { Migration } from '@guildhall/db'
import { checkList } from './check-list.ts'

const statuses = checkList(AgentRecord.shape.status.options)

/** What this service has heard of agents, and which configurations it has met. */
export const createAgents: Migration = {
  up: async (trx) => {
    await trx.raw(`
      create table agents (
        user_id bigint not null,
        agent_id bigint not null,
        name text not null,
        config_hash text not null,
        spawned boolean not null,
        status text not null,
        version integer not null,
        constraint agents_pkey primary key (user_id, agent_id),
        constraint agents_status_check check (status in (${statuses}))
      );

      -- whom evidence about a configuration concerns
      create index agents_of_config on agents (user_id, config_hash) where status = 'active';

      -- a configuration is seeded when it is first met, and never again
      create table configs (
        user_id bigint not null,
        config_hash text not null,
        first_met_at timestamptz not null,
        constraint configs_pkey primary key (user_id, config_hash)
      );
    `)
  },
}
