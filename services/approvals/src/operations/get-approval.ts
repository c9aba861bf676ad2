import type { Handler } from '@guildhall/bus'
import type { getApproval } from '@guildhall/contracts'
import { noSuchApproval } from '../approval-errors.ts'
import type { Deps } from '../deps.ts'
import { shownApproval } from '../settled.ts'
import { findApproval } from '../store/approvals.ts'

/** An agent sees what it asked for; what other agents asked for is unknown to it. */
export const handleGetApproval =
  ({ db }: Deps): Handler<typeof getApproval> =>
  async ({ principal }, { approval_id }) => {
    const approval = await findApproval(db, { user_id: principal.user_id, approval_id })
    if (approval === undefined) throw noSuchApproval()
    if (principal.kind === 'agent' && approval.requested_by_agent_id !== principal.agent_id) {
      throw noSuchApproval()
    }
    return shownApproval(approval)
  }
