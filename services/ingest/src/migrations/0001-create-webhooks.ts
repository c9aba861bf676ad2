import { SourceType } from '@guildhall/contracts'
import { outboxMigration, type Trx } from '@guildhall/db'

const list = (values: readonly string[]): string => values.map((value) => `'${value}'`).join(', ')

export const up = async (trx: Trx): Promise<void> => {
  await trx.raw(`
    create table webhooks (
      webhook_id text primary key,
      owner_id bigint not null,
      -- null: made by a human, who needs no endpoint
      endpoint_id text,
      source_type text not null,
      target_queue text not null,
      -- grows with every change; orders the copies in the bucket
      version integer not null default 1,
      created_at timestamptz not null,
      rotated_at timestamptz,
      deleted_at timestamptz,
      constraint webhooks_source_type_known check (source_type in (${list(SourceType.options)})),
      constraint webhooks_target_queue_form check (target_queue ~ '^[A-Za-z0-9_-]{1,64}$')
    );
    -- list_webhooks of a human
    create index webhooks_by_owner on webhooks (owner_id, created_at desc, webhook_id desc)
      where deleted_at is null;
    -- list_webhooks of an agent, and the count against its ceiling
    create index webhooks_by_endpoint on webhooks (endpoint_id, created_at desc)
      where deleted_at is null;

    create table webhook_urls (
      token_hash text primary key,
      webhook_id text not null references webhooks,
      key_id text not null,
      data text not null,
      created_at timestamptz not null,
      -- null: the current one; else it answers until then
      until timestamptz
    );
    -- one current URL per webhook; also finds all of one webhook's
    create unique index webhook_urls_current on webhook_urls (webhook_id) where until is null;
    create index webhook_urls_by_webhook on webhook_urls (webhook_id);

    create table webhook_secrets (
      id bigint generated always as identity primary key,
      webhook_id text not null references webhooks,
      key_id text not null,
      data text not null,
      created_at timestamptz not null,
      until timestamptz
    );
    create unique index webhook_secrets_current on webhook_secrets (webhook_id) where until is null;
    create index webhook_secrets_by_webhook on webhook_secrets (webhook_id);

    -- What a call was answered, so that its repeat gets the same answer, secret included.
    create table answers (
      owner_id bigint not null,
      caller text not null,
      operation text not null,
      key_hash text not null,
      key_id text,
      data text,
      created_at timestamptz not null,
      constraint answers_pkey primary key (owner_id, caller, operation, key_hash)
    );
    -- the hourly clean-up
    create index answers_by_age on answers (created_at);
  `)
  await outboxMigration(trx)
}
