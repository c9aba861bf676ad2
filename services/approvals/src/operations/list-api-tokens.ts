import type { Handler } from '@guildhall/bus'
import type { listApiTokens } from '@guildhall/contracts'
import type { Deps } from '../deps.ts'
import { listLiveApiTokens } from '../store/api-tokens.ts'

export const handleListApiTokens =
  ({ db }: Deps): Handler<typeof listApiTokens> =>
  async ({ principal }) => ({ api_tokens: await listLiveApiTokens(db, principal.user_id) })
