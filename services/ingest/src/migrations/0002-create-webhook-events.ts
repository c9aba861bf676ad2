import type { Trx } from '@guildhall/db'

export const up = async (trx: Trx): Promise<void> => {
  await trx.raw(`
    create table webhook_events (
      id bigint generated always as identity primary key,
      -- one row per delivery, however often the consumer sees it
      todo_id text not null constraint webhook_events_todo_id_unique unique,
      webhook_id text not null,
      owner_id bigint not null,
      endpoint_id text,
      provider text not null,
      queue text not null,
      event_type text,
      title text not null,
      trust_mode text not null,
      verified boolean not null,
      verify_detail text not null,
      external_id text not null,
      content_type text not null,
      source_ip text not null,
      headers jsonb not null,
      payload bytea,
      -- where the body is, when it was too large for a message
      body_ref text,
      payload_size integer not null,
      received_at timestamptz not null,
      constraint webhook_events_trust_mode_known check (trust_mode in ('signed', 'token')),
      constraint webhook_events_one_body check ((payload is null) <> (body_ref is null))
    );
    -- bodies are mostly JSON that was sent compressed by nobody; keep reading a page of one cheap
    alter table webhook_events alter column payload set storage external;
    -- list_webhook_events of a human
    create index webhook_events_by_owner on webhook_events (owner_id, received_at desc, id desc);
    -- list_webhook_events of an agent
    create index webhook_events_by_endpoint
      on webhook_events (endpoint_id, received_at desc, id desc);
    -- retention
    create index webhook_events_by_age on webhook_events (received_at);
  `)
}
