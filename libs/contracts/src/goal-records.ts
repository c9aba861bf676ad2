import { z } from 'zod'
import { AutonomyTier, McpServer } from './agents.ts'
import { GoalStatus, TaskStatus } from './goals.ts'
import { AgentId, ChannelId, GoalId, TaskId, UserId } from './ids.ts'

/**
 * What one service keeps on the bus for the others to read, so that none has to ask another in
 * order to answer. Each bucket has one writer; an entry only ever moves to a higher `version`.
 */

const Millis = z.int().min(0)
const versioned = { v: z.literal(1), version: z.int().positive() }

/** KV bucket `agents`, key `<user>.<agent_id>`. Written by approvals. */
export const AgentRecord = z.strictObject({
  ...versioned,
  agent_id: AgentId,
  user_id: UserId,
  name: z.string(),
  display_name: z.string(),
  status: z.enum(['active', 'inactive']),
  autonomy_tier: AutonomyTier,
  tool_scope: z.array(z.string()),
  mcp_servers: z.array(McpServer),
  config_hash: z.string(),
  spawn_depth: z.int().min(0),
  parent_agent_id: AgentId.nullable(),
  parent_agent_name: z.string().nullable(),
  coordinator_template: z.string().nullable(),
})
export type AgentRecord = z.infer<typeof AgentRecord>

/** KV bucket `goals`, key `<user>.goal.<goal_id>`. Written by tasks. */
export const GoalRecord = z.strictObject({
  ...versioned,
  goal_id: GoalId,
  user_id: UserId,
  slug: z.string(),
  title: z.string(),
  channel_id: ChannelId,
  coordinator_agent_id: AgentId,
  status: GoalStatus,
  max_spawn_depth: z.int(),
  /** Null: no cap. */
  budget_tokens: z.int().min(0).nullable(),
  budget_dollars_cents: z.int().min(0).nullable(),
  /** What a new subtask may still be given: the budget less what is spent and held. Null: no cap. */
  remaining_tokens: z.int().min(0).nullable(),
  remaining_dollars_cents: z.int().min(0).nullable(),
})
export type GoalRecord = z.infer<typeof GoalRecord>

/** KV bucket `goals`, key `<user>.task.<task_id>`. Written by tasks. */
export const TaskRecord = z.strictObject({
  ...versioned,
  task_id: TaskId,
  goal_id: GoalId,
  user_id: UserId,
  parent_task_id: TaskId.nullable(),
  title: z.string(),
  status: TaskStatus,
  billing_code: z.string().nullable(),
  assignee_agent_id: AgentId.nullable(),
  /** The agent whose verdict it waits for, if it is a peer's. */
  verifier_agent_id: AgentId.nullable(),
  /** Of the task and everything below it; null: no cap of its own. */
  remaining_tokens: z.int().min(0).nullable(),
  remaining_dollars_cents: z.int().min(0).nullable(),
})
export type TaskRecord = z.infer<typeof TaskRecord>

/** KV bucket `standing`, key `<user>.<agent_id>`. Written by reputation. No entry: good standing. */
export const StandingRecord = z.strictObject({
  ...versioned,
  agent_id: AgentId,
  user_id: UserId,
  quarantined: z.boolean(),
  reason: z.string().nullable(),
  since: Millis,
})
export type StandingRecord = z.infer<typeof StandingRecord>
