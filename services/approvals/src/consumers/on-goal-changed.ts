import { durables } from '@guildhall/bus'
import { type GoalChanged, goalChanged } from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import type { Part } from '@guildhall/runtime'
import { goalChannelIn, postMessageIn } from '../messages.ts'
import { type EventDeps, eachOnce } from './each-once.ts'

const announce = async (trx: Trx, goal: GoalChanged): Promise<void> => {
  const { user_id, goal_id, title, change, status } = goal
  const at = new Date(goal.at)
  await postMessageIn(trx, {
    user_id,
    channel_id: await goalChannelIn(trx, goal, at),
    from: 'system',
    kind: 'system',
    body: change === 'created' ? `Goal ${goal_id} was created: ${title}` : `The goal was ${change}`,
    metadata: { goal_id, change, status },
    at,
  })
}

/** Makes the channel of a new goal, and tells there what becomes of it. */
export const onGoalChanged = (events: EventDeps): Part =>
  eachOnce(events, {
    durable: durables.approvalsGoals,
    schema: goalChanged.schema,
    apply: announce,
  })
