import type { Handler } from '@guildhall/bus'
import type { listAgents } from '@guildhall/contracts'
import type { Deps } from '../deps.ts'
import { pageOf, readNumberCursor } from '../number-cursor.ts'
import { listAgentsBefore } from '../store/agents.ts'

export const handleListAgents =
  ({ db }: Deps): Handler<typeof listAgents> =>
  async ({ principal: { user_id } }, { status = null, limit, cursor }) => {
    const before = readNumberCursor(cursor)
    const found = await listAgentsBefore(db, { user_id, status, before, limit: limit + 1 })
    const { rows, next } = pageOf(found, limit, ({ agent_id }) => agent_id)
    return { agents: rows, ...next }
  }
