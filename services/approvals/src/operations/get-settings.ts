import type { Handler } from '@guildhall/bus'
import type { getSettings } from '@guildhall/contracts'
import type { Deps } from '../deps.ts'
import { findSettings } from '../store/user-settings.ts'

export const handleGetSettings =
  ({ db }: Deps): Handler<typeof getSettings> =>
  ({ principal }) =>
    findSettings(db, principal.user_id)
