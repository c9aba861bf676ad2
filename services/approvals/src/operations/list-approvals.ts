import type { Handler } from '@guildhall/bus'
import type { listApprovals } from '@guildhall/contracts'
import type { Deps } from '../deps.ts'
import { pageOf, readNumberCursor } from '../number-cursor.ts'
import { listApprovalsPage } from '../store/approvals.ts'

export const handleListApprovals =
  ({ db }: Deps): Handler<typeof listApprovals> =>
  async ({ principal }, { status = null, kind = null, goal_id = null, limit, cursor }) => {
    const { approvals, waiting_on_you } = await listApprovalsPage(db, {
      user_id: principal.user_id,
      agent_id: principal.kind === 'agent' ? principal.agent_id : null,
      status,
      kind,
      goal_id,
      before: readNumberCursor(cursor),
      limit: limit + 1,
    })
    const { rows, next } = pageOf(approvals, limit, ({ approval_id }) => approval_id)
    return { approvals: rows, waiting_on_you, ...next }
  }
