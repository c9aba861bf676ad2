import type { Handler } from '@guildhall/bus'
import { type getMe, ServiceError } from '@guildhall/contracts'
import type { Deps } from '../deps.ts'
import { findUser } from '../store/users.ts'

export const handleGetMe =
  ({ db }: Deps): Handler<typeof getMe> =>
  async ({ principal }) => {
    const user = await findUser(db, principal.user_id)
    if (user === undefined) throw new ServiceError('not_found', 'there is no such user')
    return user
  }
