import type { Trx } from '@guildhall/db'

/** Items whose message was not there when their creation was projected. */
export const up = async (trx: Trx): Promise<void> => {
  await trx.raw('alter table todos add column unsent_since timestamptz')
  // The sweep: creators that died between record and message. Nearly always empty.
  await trx.raw('create index todos_unsent on todos (unsent_since) where unsent_since is not null')
}
