import {
  Endpoint,
  LEASE_ENDPOINT_DEFAULT_MIN_SECONDS,
  LEASE_MAX_SECONDS,
} from '@guildhall/contracts'
import type { Migration } from '@guildhall/db'
import { checkList } from './check-list.ts'

const statuses = checkList(Endpoint.shape.status.options)
const sourceTypes = checkList(Endpoint.shape.webhook_source_types.element.options)

/** Agents, their endpoints, and the credentials of those. Columns are the fields of the contract. */
export const createEndpoints: Migration = {
  up: async (trx) => {
    await trx.raw(`
      create table agents (
        agent_id integer generated always as identity,
        user_id integer not null,
        name text not null,
        created_at timestamptz not null,
        constraint agents_pkey primary key (agent_id),
        constraint agents_user_id_name_key unique (user_id, name),
        -- lets an endpoint refer to agent and owner at once, so that the two can never disagree
        constraint agents_user_id_agent_id_key unique (user_id, agent_id),
        constraint agents_user_id_fkey foreign key (user_id) references users
      );

      create table endpoints (
        endpoint_id text collate "C" not null,
        user_id integer not null,
        agent_id integer not null,
        name text not null,
        tools text[] not null,
        queues text[] not null,
        webhook_max integer not null,
        webhook_source_types text[] not null,
        webhook_queues text[] not null,
        default_lease_ttl_seconds integer,
        require_fence boolean not null,
        rate_limit jsonb not null,
        allowed_cidrs text[] not null,
        expires_at timestamptz,
        status text not null,
        credential_prefix text not null,
        created_at timestamptz not null,
        revoked_at timestamptz,
        version integer not null,
        constraint endpoints_pkey primary key (endpoint_id),
        constraint endpoints_agent_fkey
          foreign key (user_id, agent_id) references agents (user_id, agent_id),
        constraint endpoints_status_check check (status in (${statuses})),
        constraint endpoints_revoked_at_check
          check ((status = 'revoked') = (revoked_at is not null)),
        constraint endpoints_version_check check (version > 0),
        constraint endpoints_default_lease_check check (
          default_lease_ttl_seconds
            between ${LEASE_ENDPOINT_DEFAULT_MIN_SECONDS} and ${LEASE_MAX_SECONDS}),
        constraint endpoints_source_types_check
          check (webhook_source_types <@ array[${sourceTypes}]),
        -- a ceiling above zero under which no webhook could ever be made is refused
        constraint endpoints_ceiling_check check (
          webhook_max = 0 or (
            webhook_max > 0
            and cardinality(webhook_source_types) > 0
            and cardinality(webhook_queues) > 0))
      );

      -- for list_endpoints; ids are ULIDs, so their order is the order of creation
      create index endpoints_by_user on endpoints (user_id, endpoint_id desc);
      -- for the ceiling at a vend
      create index endpoints_active on endpoints (user_id) where status = 'active';

      create table credentials (
        credential_sha256 text collate "C" not null,
        endpoint_id text collate "C" not null,
        prefix text not null,
        created_at timestamptz not null,
        revoked_at timestamptz,
        constraint credentials_pkey primary key (credential_sha256),
        constraint credentials_endpoint_id_fkey foreign key (endpoint_id) references endpoints
      );

      -- an endpoint is one credential: never two that work
      create unique index credentials_live_key on credentials (endpoint_id)
        where revoked_at is null;
    `)
  },
}
