import type { Settings } from '@guildhall/contracts'
import { type Connection, firstRow } from '@guildhall/db'

const DEFAULTS: Settings = { command_verifiers_enabled: false }

export const findSettings = async (db: Connection, user_id: number): Promise<Settings> => {
  const row = await firstRow<Settings>(
    db,
    'select command_verifiers_enabled from user_settings where user_id = cast(:user_id as bigint)',
    { user_id },
  )
  return row ?? DEFAULTS
}

/** What is absent stays as it is. */
export const putSettings = async (
  db: Connection,
  user_id: number,
  { command_verifiers_enabled = null }: { readonly command_verifiers_enabled?: boolean | null },
): Promise<Settings> => {
  const row = await firstRow<Settings>(
    db,
    `insert into user_settings as known (user_id, command_verifiers_enabled)
     values (:user_id, coalesce(cast(:enabled as boolean), :initial))
     on conflict (user_id) do update set command_verifiers_enabled =
       coalesce(cast(:enabled as boolean), known.command_verifiers_enabled)
     returning command_verifiers_enabled`,
    { user_id, enabled: command_verifiers_enabled, initial: DEFAULTS.command_verifiers_enabled },
  )
  return row ?? DEFAULTS
}
