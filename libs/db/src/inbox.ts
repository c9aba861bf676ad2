import type { Trx } from './connect.ts'

/** Inbox: an event takes effect once per consumer, however often it is delivered. */
export const inboxMigration = async (trx: Trx): Promise<void> => {
  await trx.raw(`
    create table inbox (
      consumer text not null,
      event_id text not null,
      received_at timestamptz not null default now(),
      constraint inbox_pkey primary key (consumer, event_id)
    )`)
}

/** True for the first delivery; call it in the transaction that makes the effect. */
export const firstTime = async (trx: Trx, consumer: string, event_id: string): Promise<boolean> => {
  const inserted = await trx('inbox')
    .insert({ consumer, event_id })
    .onConflict(['consumer', 'event_id'])
    .ignore()
    .returning('event_id')
  return inserted.length > 0
}
