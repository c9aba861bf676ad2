import { durables } from '@guildhall/bus'
import { type TaskClaimed, taskClaimed } from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import type { Part } from '@guildhall/runtime'
import { goalChannelOfIn } from '../channels.ts'
import type { Deps } from '../deps.ts'
import { noSuchAgent } from '../messages.ts'
import { findAgent } from '../store/agents.ts'
import { addMember } from '../store/channels.ts'
import { type EventDeps, eachOnce } from './each-once.ts'

const join = async (trx: Trx, { records }: Deps, event: TaskClaimed): Promise<void> => {
  const { user_id, goal_id, agent_id } = event
  const joined_at = new Date(event.at)
  if ((await findAgent(trx, { user_id, agent_id })) === undefined) throw noSuchAgent()
  const channel_id = await goalChannelOfIn(trx, records, user_id, goal_id, joined_at)
  await addMember(trx, { user_id, channel_id, agent_id, role: 'member', joined_at })
}

/** Whoever works on a goal is in its channel. */
export const onTaskClaimed = (events: EventDeps): Part =>
  eachOnce(events, {
    durable: durables.approvalsTasks,
    schema: taskClaimed.schema,
    apply: (trx, event) => join(trx, events.deps, event),
  })
