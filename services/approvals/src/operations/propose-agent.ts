import type { Handler } from '@guildhall/bus'
import { namedError, proposeAgent } from '@guildhall/contracts'
import { transaction } from '@guildhall/db'
import { callOf } from '../call.ts'
import type { Deps } from '../deps.ts'
import { proposeAgentIn } from '../propose-agent.ts'

export const handleProposeAgent =
  (deps: Deps): Handler<typeof proposeAgent> =>
  async (ctx, input) => {
    const { principal } = ctx
    if (principal.kind === 'human') {
      throw namedError(
        'ErrNotPermitted',
        'a proposed agent has the agent that proposes as parent',
        {
          what_to_do: 'Make the agent yourself with create_agent.',
        },
      )
    }
    const call = callOf(deps, ctx, proposeAgent, input)
    const { approval_id, message_id } = await transaction(deps.db, (trx) =>
      proposeAgentIn(trx, deps.records, call, principal, input),
    )
    await deps.settle()
    return { proposal_id: approval_id, approval_message_id: message_id }
  }
