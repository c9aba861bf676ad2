import type { Handler } from '@guildhall/bus'
import { removeAgent } from '@guildhall/contracts'
import type { Deps } from '../deps.ts'
import { changeMembership } from '../membership.ts'

export const handleRemoveAgent = (deps: Deps): Handler<typeof removeAgent> =>
  changeMembership(deps, removeAgent, 'remove')
