import { Agent, AutonomyTier, type HashedConfig } from '@guildhall/contracts'
import type { Migration, Trx } from '@guildhall/db'
import { COORDINATOR, coordinatorConfig, unstatedConfig } from '../agent-config.ts'
import { configHash } from '../config-hash.ts'
import { checkList } from './check-list.ts'

const statuses = checkList(Agent.shape.status.options)
const tiers = checkList(AutonomyTier.options)

interface OldAgent {
  readonly agent_id: number
  readonly name: string
  readonly tools: string[]
}

/** What agents that are there already may hand on: what their endpoints may do now. */
const oldAgents = async (trx: Trx): Promise<OldAgent[]> => {
  const { rows }: { rows: OldAgent[] } = await trx.raw(`
    select agent_id, agents.name, array(
      select distinct unnest(tools) from endpoints
      where endpoints.agent_id = agents.agent_id and status = 'active' order by 1) as tools
    from agents order by agent_id`)
  return rows
}

const configColumns = (config: HashedConfig) => ({
  ...config,
  mcp_servers: JSON.stringify(config.mcp_servers),
  config_hash: configHash(config),
})

/** Each owner has somebody who plans their goals. An agent of that name becomes it as it is. */
const addCoordinators = async (trx: Trx): Promise<void> => {
  const { model, system_prompt, tool_scope, ...rest } = configColumns(coordinatorConfig)
  await trx.raw(
    `insert into agents (user_id, name, display_name, created_at, model, system_prompt, tool_scope,
       skills, mcp_servers, subagents, config_hash, autonomy_tier, coordinator_template)
     select user_id, :name, :display_name, created_at, :model, :system_prompt, :tool_scope,
       :skills, :mcp_servers, :subagents, :config_hash, :autonomy_tier, :coordinator_template
     from users
     on conflict (user_id, name) do update set coordinator_template = excluded.coordinator_template`,
    { ...COORDINATOR, model, system_prompt, tool_scope: [...tool_scope], ...rest },
  )
}

/** Agents get what they are made of, so that their hash can be computed again at any time. */
export const growAgents: Migration = {
  up: async (trx) => {
    await trx.raw(`
      alter table agents
        add column display_name text,
        add column status text not null default 'active',
        add column model text not null default '',
        add column system_prompt text not null default '',
        add column tool_scope text[] not null default '{}',
        add column skills text[] not null default '{}',
        add column mcp_servers jsonb not null default '[]',
        add column subagents text[] not null default '{}',
        add column autonomy_tier text not null default 'supervised',
        add column config_hash text,
        add column spawn_depth integer not null default 0,
        add column parent_agent_id integer,
        -- the parent's configuration when the owner approved: what reputation was inherited from
        add column parent_config_hash text,
        add column goal_id bigint,
        add column parent_task_id bigint,
        add column coordinator_template text,
        add column quarantined_at timestamptz,
        add column quarantine_reason text,
        -- when reputation said so: what it said before that comes too late
        add column standing_at timestamptz,
        add column version integer not null default 1;
    `)
    for (const { agent_id, name, tools } of await oldAgents(trx)) {
      const config = { ...unstatedConfig(name), tool_scope: tools }
      await trx('agents')
        .where({ agent_id })
        .update({ display_name: name, ...configColumns(config) })
    }
    await addCoordinators(trx)
    await trx.raw(`
      alter table agents
        alter column display_name set not null,
        alter column status drop default,
        alter column model drop default,
        alter column system_prompt drop default,
        alter column tool_scope drop default,
        alter column skills drop default,
        alter column mcp_servers drop default,
        alter column subagents drop default,
        alter column autonomy_tier drop default,
        alter column config_hash set not null,
        drop constraint agents_user_id_name_key,
        add constraint agents_status_check check (status in (${statuses})),
        add constraint agents_autonomy_tier_check check (autonomy_tier in (${tiers})),
        add constraint agents_config_hash_check check (config_hash ~ '^[0-9a-f]{64}$'),
        add constraint agents_spawn_depth_check check (spawn_depth >= 0),
        add constraint agents_version_check check (version > 0),
        add constraint agents_quarantine_check check (quarantine_reason is null or quarantined_at is not null),
        add constraint agents_parent_check
          check (parent_agent_id is null or (spawn_depth > 0 and parent_config_hash is not null)),
        add constraint agents_parent_fkey
          foreign key (user_id, parent_agent_id) references agents (user_id, agent_id);

      -- a name is free again once its agent is deactivated
      create unique index agents_active_name_key on agents (user_id, name)
        where status = 'active';
      -- a goal that names a template finds one coordinator
      create unique index agents_active_template_key on agents (user_id, coordinator_template)
        where status = 'active' and coordinator_template is not null;
    `)
  },
}
