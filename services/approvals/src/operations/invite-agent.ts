import type { Handler } from '@guildhall/bus'
import { inviteAgent } from '@guildhall/contracts'
import type { Deps } from '../deps.ts'
import { changeMembership } from '../membership.ts'

export const handleInviteAgent = (deps: Deps): Handler<typeof inviteAgent> =>
  changeMembership(deps, inviteAgent, 'invite')
