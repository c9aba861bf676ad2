import { randomUUID } from 'node:crypto'
import type { CallContext, Handler } from '@guildhall/bus'
import {
  type createGoal,
  GOAL_DESCRIPTION_MIN_CHARS,
  GOAL_TITLE_MIN_CHARS,
  goalChannelId,
  holderName,
  type InputOf,
  namedError,
  type OutputOf,
  ServiceError,
  sha256Hex,
} from '@guildhall/contracts'
import { type Trx, transaction } from '@guildhall/db'
import type { Tasks } from '../context.ts'
import { announceGoalChangeIn, postNoticeIn } from '../goal-news.ts'
import { announceGoalIn } from '../goal-projection.ts'
import { slugCandidates } from '../slug.ts'
import { addGoalEventIn } from '../store/goal-events.ts'
import { findGoalByKey, type GoalRow, insertGoalIn, lockGoalsOfOwnerIn } from '../store/goals.ts'
import { storableText } from '../store/json.ts'

const DEFAULT_TEMPLATE = 'default'
const SELF = 'self'

const textOf = (name: string, text: string, min: number): string => {
  const stored = storableText(text)
  if (stored.length >= min) return stored
  throw new ServiceError('invalid_argument', `${name}: at least ${min} characters`)
}

const coordinatorOf = async (
  tasks: Tasks,
  { principal }: CallContext,
  template: string,
): Promise<number> => {
  if (template === SELF) {
    if (principal.kind === 'agent') return principal.agent_id
    throw namedError('ErrUnknownTemplate', 'coordinator_config: "self" is for agents')
  }
  const agent = await tasks.agents.findCoordinator(principal.user_id, template)
  if (agent !== undefined) return agent.agent_id
  throw namedError(
    'ErrUnknownTemplate',
    `coordinator_config: no active agent coordinates by the template "${template}"`,
  )
}

const toAnswer = (goal: GoalRow): OutputOf<typeof createGoal> => ({
  goal_id: goal.goal_id,
  slug: goal.slug,
  channel_id: goalChannelId(goal.goal_id),
  coordinator_agent_id: goal.coordinator_agent_id,
  status: goal.status,
})

interface Keys {
  readonly create_key_hash: string
  readonly create_input_hash: string
}

const keysOf = (ctx: CallContext, input: InputOf<typeof createGoal>): Keys => {
  const key = input.idempotency_key ?? ctx.idempotency_key ?? randomUUID()
  return {
    create_key_hash: sha256Hex(`${holderName(ctx.principal)}:${key}`),
    create_input_hash: sha256Hex(JSON.stringify({ ...input, idempotency_key: undefined })),
  }
}

const findRepeat = async (
  db: Parameters<typeof findGoalByKey>[0],
  user_id: number,
  { create_key_hash, create_input_hash }: Keys,
): Promise<GoalRow | undefined> => {
  const goal = await findGoalByKey(db, user_id, create_key_hash)
  if (goal === undefined || goal.create_input_hash === create_input_hash) return goal
  throw new ServiceError('idempotency_conflict', 'this key created another goal')
}

const announceNewGoalIn = async (
  trx: Trx,
  ctx: CallContext,
  goal: GoalRow,
  now: Date,
): Promise<void> => {
  const { goal_id, owner_user_id, coordinator_agent_id } = goal
  const sender = holderName(ctx.principal)
  await announceGoalChangeIn(trx, goal, 'created', now)
  const body = `Goal "${goal.title}" was created.`
  await addGoalEventIn(trx, { goal_id, sender, kind: 'goal_created', body, now })
  if (sender === `agent:${coordinator_agent_id}`) return
  await postNoticeIn(
    trx,
    owner_user_id,
    { kind: 'agent', agent_id: coordinator_agent_id },
    `You coordinate the new goal ${goal_id} "${goal.title}". Read it with get_goal, then propose its tasks with propose_task_tree.`,
    { kind: 'goal_created', goal_id },
    now,
  )
}

/** A repeat under the same key finds what the first try made, also when both run at once. */
export const handleCreateGoal =
  (tasks: Tasks): Handler<typeof createGoal> =>
  async (ctx, input) => {
    const { user_id } = ctx.principal
    const keys = keysOf(ctx, input)
    const title = textOf('title', input.title, GOAL_TITLE_MIN_CHARS)
    const description = textOf('description', input.description, GOAL_DESCRIPTION_MIN_CHARS)
    const made = await findRepeat(tasks.db, user_id, keys)
    if (made !== undefined) return toAnswer(made)
    const coordinator_agent_id = await coordinatorOf(
      tasks,
      ctx,
      input.coordinator_config ?? DEFAULT_TEMPLATE,
    )
    const now = new Date(tasks.clock.now())
    const goal = await transaction(tasks.db, async (trx) => {
      await lockGoalsOfOwnerIn(trx, user_id)
      const repeated = await findRepeat(trx, user_id, keys)
      if (repeated !== undefined) return repeated
      const goal_id = await insertGoalIn(
        trx,
        {
          owner_user_id: user_id,
          title,
          description,
          coordinator_agent_id,
          max_spawn_depth: input.max_spawn_depth,
          budget_tokens: input.budget_tokens ?? null,
          budget_dollars_cents: input.budget_dollars_cents ?? null,
          ...keys,
          now,
        },
        slugCandidates(title),
      )
      if (goal_id === undefined) {
        throw new ServiceError('conflict', 'too many goals have this title already', {
          what_to_do: 'Choose another title.',
        })
      }
      const created = await announceGoalIn(trx, goal_id)
      await announceNewGoalIn(trx, ctx, created, now)
      return created
    })
    await tasks.settle()
    return toAnswer(goal)
  }
