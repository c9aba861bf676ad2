import { type EvidenceKind, evidenceEarned, type Notice } from '@guildhall/contracts'
import { addToOutbox, type Trx } from '@guildhall/db'
import { postNoticeIn, tellGoalIn } from './goal-news.ts'
import type { GoalRow } from './store/goals.ts'
import type { TaskRow } from './store/tasks.ts'

/** What people, agents and services are told of a task: rows of the outbox, in its transaction. */

export interface Telling {
  readonly trx: Trx
  readonly goal: GoalRow
  readonly task: TaskRow
  readonly now: Date
}

interface NoticeDraft {
  readonly to: Notice['to']
  readonly body: string
  readonly metadata: Readonly<Record<string, unknown>>
}

export const noticeIn = (
  { trx, goal, task, now }: Telling,
  { to, body, metadata }: NoticeDraft,
): Promise<void> =>
  postNoticeIn(
    trx,
    goal.owner_user_id,
    to,
    body,
    { goal_id: goal.goal_id, task_id: task.task_id, ...metadata },
    now,
  )

interface Move {
  readonly old: string
  readonly new: string
  /** `system`, or who did it. */
  readonly actor: string
  readonly reason?: string | null
}

const REASON_SHOWN_CHARS = 500

/** Every transition of a task: in the channel of its goal, and in the goal's own log. */
export const tellMoveIn = (
  { trx, goal, task, now }: Telling,
  { old, new: next, actor, reason }: Move,
): Promise<void> => {
  const why = reason ? `: ${reason.slice(0, REASON_SHOWN_CHARS)}` : ''
  return tellGoalIn(
    trx,
    goal,
    {
      kind: 'task_moved',
      body: `Task ${task.task_id} "${task.title}": ${old} -> ${next}, by ${actor}${why}`,
      sender: actor,
      metadata: { task_id: task.task_id, title: task.title, old, new: next, actor },
    },
    now,
  )
}

interface Earned {
  readonly agent_id: number
  readonly config_hash: string
  readonly domain: string
  readonly kind: EvidenceKind
  readonly ref: string
  /** Which claim of the task it is about: with the task and the kind it makes the event's id. */
  readonly claim_seq: number
}

export const evidenceIn = async (
  { trx, goal, task, now }: Telling,
  { claim_seq, ...earned }: Earned,
): Promise<void> => {
  await addToOutbox(trx, {
    subject: evidenceEarned.subject,
    key: `${goal.owner_user_id}.evidence.${earned.agent_id}`,
    payload: evidenceEarned.schema.parse({
      v: 1,
      user_id: goal.owner_user_id,
      ...earned,
      task_id: task.task_id,
      at: now.getTime(),
    }),
    event_id: `task:${task.task_id}:${claim_seq}:${earned.kind}`,
  })
}
