import { z } from 'zod'
import { AgentId, ChannelId, GoalId, TaskId, UserId, WorkItemId } from './ids.ts'
import {
  GOAL_DESCRIPTION_MAX_CHARS,
  GOAL_DESCRIPTION_MIN_CHARS,
  GOAL_EVENTS_SHOWN,
  GOAL_TITLE_MAX_CHARS,
  GOAL_TITLE_MIN_CHARS,
  LEASE_DEFAULT_SECONDS,
  LEASE_MAX_SECONDS,
  LIST_LIMIT_DEFAULT,
  LIST_LIMIT_MAX,
  SPAWN_DEPTH_DEFAULT,
  SPAWN_DEPTH_MAX,
  TASK_TEXT_MAX_CHARS,
} from './limits.ts'
import { operation } from './operation.ts'
import { VerifierConfig } from './task-tree.ts'
import { IdempotencyKey, Timestamp } from './todo.ts'

/** Goals and the tasks below them. Owned by the tasks service. */

export const GoalStatus = z.enum(['draft', 'active', 'paused', 'stuck', 'completed', 'cancelled'])
export type GoalStatus = z.infer<typeof GoalStatus>

/** `proposed` is a word of the contract: a proposed task has no row before its tree is approved. */
export const TaskStatus = z.enum([
  'proposed',
  'approved',
  'claimed',
  'in_progress',
  'awaiting_verification',
  'done',
  'failed',
  'cancelled',
])
export type TaskStatus = z.infer<typeof TaskStatus>

const Title = z.string().min(GOAL_TITLE_MIN_CHARS).max(GOAL_TITLE_MAX_CHARS)
const Budget = z.int().min(0)
const Cost = z.strictObject({ tokens: z.int().min(0), dollars_cents: z.int().min(0) })

const page = {
  limit: z.int().min(1).max(LIST_LIMIT_MAX).default(LIST_LIMIT_DEFAULT),
  cursor: z.string().max(200).optional().describe('next_cursor of the page before.'),
}

export const Goal = z.strictObject({
  goal_id: GoalId,
  slug: z.string(),
  title: z.string(),
  description: z.string(),
  status: GoalStatus,
  owner_user_id: UserId,
  channel_id: ChannelId,
  coordinator_agent_id: AgentId,
  max_spawn_depth: z.int(),
  budget_tokens: Budget.nullable().describe('Null: no cap'),
  budget_dollars_cents: Budget.nullable().describe('Null: no cap'),
  spent_tokens: Budget,
  spent_dollars_cents: Budget,
  held_tokens: Budget.describe('Reserved by tasks that are being worked on'),
  held_dollars_cents: Budget,
  alert_80pct_posted: z.boolean(),
  pause_reason: z.string().nullable(),
  completion_summary: z.string().nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
  completed_at: Timestamp.nullable(),
})
export type Goal = z.infer<typeof Goal>

export const createGoal = operation({
  service: 'tasks',
  name: 'create_goal',
  family: 'goals',
  access: 'write',
  tool: true,
  summary: 'Create a new high-level goal with a backing channel and assign a coordinator.',
  input: z.strictObject({
    title: Title,
    description: z.string().min(GOAL_DESCRIPTION_MIN_CHARS).max(GOAL_DESCRIPTION_MAX_CHARS),
    budget_dollars_cents: Budget.optional().describe('Omitted: no cap. 0: a cap of zero.'),
    budget_tokens: Budget.optional().describe('Omitted: no cap. 0: a cap of zero.'),
    max_spawn_depth: z.int().min(1).max(SPAWN_DEPTH_MAX).default(SPAWN_DEPTH_DEFAULT),
    coordinator_config: z
      .string()
      .max(64)
      .optional()
      .describe(
        'Named coordinator template; defaults to "default". "self": the calling agent coordinates.',
      ),
    idempotency_key: IdempotencyKey.optional(),
  }),
  output: z.strictObject({
    goal_id: GoalId,
    slug: z.string(),
    channel_id: ChannelId,
    coordinator_agent_id: AgentId,
    status: GoalStatus,
  }),
  errors: ['invalid_argument', 'conflict', 'idempotency_conflict', 'unavailable'],
  http: { method: 'POST', path: '/api/goals' },
})

export const listGoals = operation({
  service: 'tasks',
  name: 'list_goals',
  family: 'goals',
  access: 'read',
  tool: true,
  summary: 'List goals, newest first.',
  input: z.strictObject({ status: GoalStatus.optional(), ...page }),
  output: z.strictObject({
    goals: z.array(
      z.strictObject({
        id: GoalId,
        slug: z.string(),
        title: z.string(),
        status: GoalStatus,
        owner_user_id: UserId,
        channel_id: ChannelId,
        cost_totals: Cost,
        task_count: z.int().min(0),
        last_activity_at: Timestamp,
      }),
    ),
    next_cursor: z.string().optional(),
  }),
  errors: ['invalid_argument', 'unavailable'],
  http: { method: 'GET', path: '/api/goals', list: 'goals' },
})

const AncestryEntry = z.strictObject({
  id: TaskId,
  title: z.string(),
  acceptance_criteria: z.string().optional(),
})

export const Task = z.strictObject({
  task_id: TaskId,
  item_id: WorkItemId.describe('For heartbeat and release'),
  goal_id: GoalId,
  parent_task_id: TaskId.nullable(),
  depth: z.int().min(0),
  is_leaf: z.boolean(),
  title: z.string(),
  description: z.string(),
  acceptance_criteria: z.string().nullable(),
  status: TaskStatus,
  billing_code: z.string().nullable(),
  budget_tokens: Budget.nullable(),
  budget_dollars_cents: Budget.nullable(),
  spent_tokens: Budget.describe('Of this task alone, without its subtasks'),
  spent_dollars_cents: Budget,
  assignee_agent_id: AgentId.nullable(),
  verifier_config: VerifierConfig,
  result_summary: z.string().nullable(),
  artifact: z.string().nullable(),
  failure_reason: z.string().nullable(),
  ancestry: z.array(AncestryEntry).describe('From the root to the parent, as they were then'),
  created_at: Timestamp,
  approved_at: Timestamp.nullable(),
  claimed_at: Timestamp.nullable(),
  started_at: Timestamp.nullable(),
  completed_at: Timestamp.nullable(),
})
export type Task = z.infer<typeof Task>

const SpawnedAgent = z.strictObject({
  id: AgentId,
  name: z.string(),
  display_name: z.string(),
  config_hash: z.string(),
  spawn_depth: z.int(),
  autonomy_tier: z.string(),
  parent_agent_name: z.string().optional(),
})

export const getGoal = operation({
  service: 'tasks',
  name: 'get_goal',
  family: 'goals',
  access: 'read',
  tool: true,
  summary: 'Show a goal whole: its tasks, the agents on it, its cost and what happened lately.',
  input: z.strictObject({ goal_id: GoalId }),
  output: z.strictObject({
    goal: Goal,
    tasks_tree: z
      .array(Task)
      .describe('Depth first, parents before their subtasks; parent_task_id makes the tree'),
    tasks_truncated: z.boolean().describe('True: more tasks than shown; see list_tasks'),
    spawned_agents: z.array(SpawnedAgent).describe('The coordinator and every assignee'),
    cost_breakdown: z.strictObject({
      total: z.strictObject({ ...Cost.shape, task_count: z.int().min(0) }),
      by_billing_code: z
        .array(z.strictObject({ billing_code: z.string(), ...Cost.shape }))
        .describe('An empty billing_code: tasks without one'),
      percent_of_budget: z.number().min(0).nullable().describe('Null: no cap'),
    }),
    recent_events: z
      .array(
        z.strictObject({
          id: z.int(),
          from: z.string(),
          body: z.string(),
          kind: z.string(),
          created_at: Timestamp,
        }),
      )
      .describe(`The last ${GOAL_EVENTS_SHOWN}, newest first`),
  }),
  errors: ['invalid_argument', 'not_found', 'unavailable'],
  http: { method: 'GET', path: '/api/goals/{goal_id}' },
})

const GoalAnswer = z.strictObject({ goal_id: GoalId, status: GoalStatus })
const goalErrors = [
  'invalid_argument',
  'not_found',
  'forbidden',
  'conflict',
  'budget_exceeded',
  'unavailable',
] as const

export const pauseGoal = operation({
  service: 'tasks',
  name: 'pause_goal',
  family: 'goals',
  access: 'write',
  tool: true,
  summary: 'Pause an active goal: nothing new is started. For its owner or coordinator.',
  input: z.strictObject({ goal_id: GoalId, reason: z.string().max(1_000).optional() }),
  output: GoalAnswer,
  errors: goalErrors,
  http: { method: 'POST', path: '/api/goals/{goal_id}/pause' },
})

export const resumeGoal = operation({
  service: 'tasks',
  name: 'resume_goal',
  family: 'goals',
  access: 'write',
  tool: true,
  human_only: true,
  summary: 'Resume a goal previously paused by budget or manual action.',
  input: z.strictObject({
    goal_id: GoalId,
    new_budget_dollars_cents: Budget.optional(),
    new_budget_tokens: Budget.optional(),
  }),
  output: GoalAnswer,
  errors: goalErrors,
  http: { method: 'POST', path: '/api/goals/{goal_id}/resume' },
})

export const completeGoal = operation({
  service: 'tasks',
  name: 'complete_goal',
  family: 'goals',
  access: 'write',
  tool: true,
  summary: 'End a goal as completed, or mark it stuck. For its owner or coordinator.',
  input: z.strictObject({
    goal_id: GoalId,
    status: z.enum(['completed', 'stuck']).default('completed'),
    summary: z.string().max(TASK_TEXT_MAX_CHARS).optional(),
  }),
  output: GoalAnswer,
  errors: goalErrors,
  http: { method: 'POST', path: '/api/goals/{goal_id}/complete' },
})

export const cancelGoal = operation({
  service: 'tasks',
  name: 'cancel_goal',
  family: 'goals',
  access: 'write',
  tool: true,
  human_only: true,
  summary: 'Cancel a goal and every task of it that has not ended.',
  input: z.strictObject({ goal_id: GoalId, reason: z.string().max(1_000).optional() }),
  output: GoalAnswer,
  errors: goalErrors,
  http: { method: 'POST', path: '/api/goals/{goal_id}/cancel' },
})

export const listTasks = operation({
  service: 'tasks',
  name: 'list_tasks',
  family: 'goals',
  access: 'read',
  tool: true,
  summary: 'List tasks, newest first. With claimable: only those that you could claim now.',
  input: z.strictObject({
    goal_id: GoalId.optional(),
    status: TaskStatus.optional(),
    claimable: z.boolean().optional(),
    mine: z.boolean().optional().describe('Only those assigned to you, or that you verify'),
    ...page,
  }),
  output: z.strictObject({ tasks: z.array(Task), next_cursor: z.string().optional() }),
  errors: ['invalid_argument', 'unavailable'],
  http: { method: 'GET', path: '/api/tasks' },
})

export const claimTask = operation({
  service: 'tasks',
  name: 'claim_task',
  family: 'goals',
  access: 'write',
  tool: true,
  summary:
    'Atomically claim an approved task. Returns ErrAlreadyClaimed if already taken. Then heartbeat with id tk_<task_id>, and submit_task.',
  input: z.strictObject({
    task_id: TaskId,
    lease_ttl_seconds: z
      .int()
      .optional()
      .describe(
        `How long you may hold the task without a heartbeat, in seconds. Default ${LEASE_DEFAULT_SECONDS} or what this endpoint is set to; at most ${LEASE_MAX_SECONDS}.`,
      ),
    idempotency_key: IdempotencyKey.optional(),
  }),
  output: z.strictObject({
    task_id: TaskId,
    status: TaskStatus,
    claimed_at: Timestamp,
    item_id: WorkItemId,
    goal_id: GoalId,
    lease_token: z.string().describe('Pass it to heartbeat, release and submit_task'),
    lease_expires_at: Timestamp,
    fence: z.int().positive(),
    title: z.string(),
    description: z.string(),
    acceptance_criteria: z.string().nullable(),
    ancestry: z.array(AncestryEntry),
    budget_tokens: Budget.nullable(),
    budget_dollars_cents: Budget.nullable(),
  }),
  errors: [
    'invalid_argument',
    'not_found',
    'forbidden',
    'conflict',
    'budget_exceeded',
    'unavailable',
  ],
})

export const Usage = z.strictObject({
  tokens: z.int().min(0).max(1_000_000_000_000).optional(),
  cost_minor: z.int().min(0).max(1_000_000_000_000).optional().describe('In minor units: cents'),
  currency: z.literal('USD').default('USD').describe('Budgets of goals are in US cents'),
})
export type Usage = z.infer<typeof Usage>

export const submitTask = operation({
  service: 'tasks',
  name: 'submit_task',
  family: 'goals',
  access: 'write',
  tool: true,
  summary: 'Hand in the task that you hold: its verifier decides whether it is done.',
  input: z.strictObject({
    task_id: TaskId,
    lease_token: z.string().max(200).optional(),
    summary: z.string().max(TASK_TEXT_MAX_CHARS).optional(),
    artifact: z.string().max(2_000).optional().describe('Where the result is'),
    usage: Usage.optional().describe('What the work cost, as you report it'),
    idempotency_key: IdempotencyKey.optional(),
  }),
  output: z.strictObject({
    task_id: TaskId,
    status: TaskStatus,
    goal_status: GoalStatus,
    verifier: z.enum(['auto', 'peer', 'command']),
  }),
  errors: ['invalid_argument', 'not_found', 'conflict', 'unavailable'],
})

export const verifyTask = operation({
  service: 'tasks',
  name: 'verify_task',
  family: 'goals',
  access: 'write',
  tool: true,
  summary: 'Give your verdict on a task that is awaiting verification by you.',
  input: z.strictObject({
    task_id: TaskId,
    verdict: z.enum(['approve', 'reject']),
    reason: z.string().max(TASK_TEXT_MAX_CHARS).optional(),
  }),
  output: z.strictObject({ task_id: TaskId, new_status: TaskStatus }),
  errors: ['invalid_argument', 'not_found', 'forbidden', 'conflict', 'unavailable'],
  http: { method: 'POST', path: '/api/tasks/{task_id}/verify' },
})
