import { type GoalChanged, goalChanged, type Notice, noticePosted } from '@guildhall/contracts'
import { addToOutbox, type Trx } from '@guildhall/db'
import { addGoalEventIn } from './store/goal-events.ts'
import type { GoalRow } from './store/goals.ts'

/** What a change of a goal tells people, agents and the other services: in its own transaction. */

const NOTICE_MAX_CHARS = 16_000

const notice = noticePosted('tasks')

export const postNoticeIn = async (
  trx: Trx,
  user_id: number,
  to: Notice['to'],
  body: string,
  metadata: Notice['metadata'],
  now: Date,
): Promise<void> => {
  await addToOutbox(trx, {
    subject: notice.subject,
    key: `${user_id}.notice`,
    payload: notice.schema.parse({
      v: 1,
      user_id,
      to,
      body: body.slice(0, NOTICE_MAX_CHARS),
      metadata,
      at: now.getTime(),
    }),
  })
}

interface News {
  readonly kind: string
  readonly body: string
  /** Who did it; without it: the system itself. */
  readonly sender?: string
  readonly metadata?: Notice['metadata']
}

/** A line in the goal's log, and the same line in its channel. */
export const tellGoalIn = async (
  trx: Trx,
  goal: Pick<GoalRow, 'goal_id' | 'owner_user_id'>,
  { kind, body, sender = 'system', metadata = {} }: News,
  now: Date,
): Promise<void> => {
  const { goal_id, owner_user_id } = goal
  await addGoalEventIn(trx, { goal_id, sender, kind, body, now })
  await postNoticeIn(
    trx,
    owner_user_id,
    { kind: 'goal', goal_id },
    body,
    { kind, goal_id, by: sender, ...metadata },
    now,
  )
}

export const announceGoalChangeIn = async (
  trx: Trx,
  goal: GoalRow,
  change: GoalChanged['change'],
  now: Date,
): Promise<void> => {
  await addToOutbox(trx, {
    subject: goalChanged.subject,
    key: `${goal.owner_user_id}.goal.${goal.goal_id}`,
    payload: goalChanged.schema.parse({
      v: 1,
      user_id: goal.owner_user_id,
      goal_id: goal.goal_id,
      slug: goal.slug,
      title: goal.title,
      coordinator_agent_id: goal.coordinator_agent_id,
      status: goal.status,
      change,
      at: now.getTime(),
    }),
  })
}
