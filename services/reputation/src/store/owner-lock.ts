import type { Trx } from '@guildhall/db'
import { rowsOf } from '@guildhall/db'

/**
 * Everything that changes an owner's scores or standings happens one after the other, whichever
 * replica does it: an agent that takes on a configuration and evidence against that configuration
 * must see each other, and neither writes a row that the other could wait for.
 */
export const lockOwner = async (trx: Trx, user_id: number): Promise<void> => {
  await rowsOf(trx, 'select pg_advisory_xact_lock(cast(:user_id as bigint))', { user_id })
}
