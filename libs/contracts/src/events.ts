import { z } from 'zod'
import { ApprovalKind } from './approvals.ts'
import { AgentRecord } from './goal-records.ts'
import { AgentId, ApprovalId, GoalId, TaskId, UserId } from './ids.ts'
import { COMMAND_OUTPUT_MAX_BYTES, COMMAND_TIMEOUT_MAX_SECONDS } from './limits.ts'
import { EvidenceKind } from './reputation.ts'
import { SecretScope } from './secrets.ts'
import { subjects } from './subjects.ts'

/**
 * Events: past facts, written to the writer's outbox in the transaction of the change, read by
 * durable consumers with an inbox. `Nats-Msg-Id` is the event's id.
 */

interface EventDefinition<S extends z.ZodType = z.ZodType> {
  readonly subject: string
  readonly schema: S
}

const event = <S extends z.ZodType>(
  service: string,
  entity: string,
  past: string,
  schema: S,
): EventDefinition<S> => ({ subject: subjects.event(service, entity, past), schema })

const v = { v: z.literal(1), user_id: UserId }
const Millis = z.int().min(0)

/** Every change of an agent, its creation included. */
export const agentChanged = event(
  'approvals',
  'agent',
  'changed',
  z.strictObject({
    ...v,
    agent: AgentRecord,
    change: z.enum(['created', 'spawned', 'edited', 'deactivated']),
    /** Set when the configuration is new: what its reputation starts from. */
    seed: z
      .strictObject({
        /** Hash of the parent (spawned), or of the agent's former self (edited). */
        from_config_hash: z.string(),
        /** Domain of the task it was spawned for. */
        domain: z.string(),
      })
      .nullable(),
    at: Millis,
  }),
)
export type AgentChanged = z.infer<typeof agentChanged.schema>

export const approvalRequested = event(
  'approvals',
  'approval',
  'requested',
  z.strictObject({
    ...v,
    approval_id: ApprovalId,
    kind: ApprovalKind,
    agent_id: AgentId.nullable(),
    goal_id: GoalId.nullable(),
    task_id: TaskId.nullable(),
    /** Of a resource request. */
    resource_name: z.string().nullable(),
    at: Millis,
  }),
)
export type ApprovalRequested = z.infer<typeof approvalRequested.schema>

/** Approved, rejected, sent back, expired or cancelled: it is pending no longer. */
export const approvalDecided = event(
  'approvals',
  'approval',
  'decided',
  z.strictObject({
    ...v,
    approval_id: ApprovalId,
    /** Counts approvals of one row: a refused execution can be approved again. */
    round: z.int().positive(),
    kind: ApprovalKind,
    decision: z.enum(['approved', 'rejected', 'changes_requested', 'expired', 'cancelled']),
    agent_id: AgentId.nullable(),
    goal_id: GoalId.nullable(),
    task_id: TaskId.nullable(),
    resource_name: z.string().nullable(),
    /** What is to be carried out, after the owner's edits: {tree, reasoning?} of a task_tree. */
    payload: z.record(z.string(), z.unknown()),
    reason: z.string().nullable(),
    decided_by_user_id: UserId.nullable(),
    at: Millis,
  }),
)
export type ApprovalDecided = z.infer<typeof approvalDecided.schema>

/** How the execution of an approved tree went. Refused: the approval is pending again. */
export const treeSettled = event(
  'tasks',
  'tree',
  'settled',
  z.strictObject({
    ...v,
    approval_id: ApprovalId,
    round: z.int().positive(),
    goal_id: GoalId,
    outcome: z.enum(['materialised', 'refused']),
    task_ids: z.array(TaskId),
    /** Name of the error and its text, when refused. */
    error: z.string().nullable(),
    message: z.string().nullable(),
    at: Millis,
  }),
)
export type TreeSettled = z.infer<typeof treeSettled.schema>

export const goalChanged = event(
  'tasks',
  'goal',
  'changed',
  z.strictObject({
    ...v,
    goal_id: GoalId,
    slug: z.string(),
    title: z.string(),
    coordinator_agent_id: AgentId,
    status: z.string(),
    change: z.enum([
      'created',
      'activated',
      'paused',
      'resumed',
      'stuck',
      'completed',
      'cancelled',
    ]),
    at: Millis,
  }),
)
export type GoalChanged = z.infer<typeof goalChanged.schema>

/** An agent took a task: it joins the channel of the goal. */
export const taskClaimed = event(
  'tasks',
  'task',
  'claimed',
  z.strictObject({ ...v, goal_id: GoalId, task_id: TaskId, agent_id: AgentId, at: Millis }),
)
export type TaskClaimed = z.infer<typeof taskClaimed.schema>

/**
 * Something to be told to somebody: approvals posts it as a message. Any service may emit it, as
 * `evt.<service>.notice.posted.v1`.
 */
export const Notice = z.strictObject({
  ...v,
  to: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('goal'), goal_id: GoalId }),
    z.strictObject({ kind: z.literal('owner') }),
    z.strictObject({ kind: z.literal('agent'), agent_id: AgentId }),
  ]),
  body: z.string().max(16_000),
  /** Ids and states for programs that read along. */
  metadata: z.record(z.string(), z.unknown()),
  at: Millis,
})
export type Notice = z.infer<typeof Notice>
export const noticePosted = (service: 'tasks' | 'reputation' | 'secrets') =>
  event(service, 'notice', 'posted', Notice)

/** What reputation is made of. The event's id names task and revision, so it counts once. */
export const evidenceEarned = event(
  'tasks',
  'evidence',
  'earned',
  z.strictObject({
    ...v,
    agent_id: AgentId,
    /** Of the configuration that did the work, not of what the agent is by now. */
    config_hash: z.string(),
    domain: z.string(),
    kind: EvidenceKind,
    /** For people: `task:7 verified=peer:3`. */
    ref: z.string(),
    task_id: TaskId,
    at: Millis,
  }),
)
export type EvidenceEarned = z.infer<typeof evidenceEarned.schema>

export const usageRecorded = event(
  'tasks',
  'usage',
  'recorded',
  z.strictObject({
    ...v,
    goal_id: GoalId,
    task_id: TaskId,
    agent_id: AgentId,
    billing_code: z.string().nullable(),
    tokens: z.int().min(0),
    cost_minor: z.int().min(0),
    currency: z.literal('USD'),
    self_reported: z.literal(true),
    at: Millis,
  }),
)
export type UsageRecorded = z.infer<typeof usageRecorded.schema>

/** For the worker that runs commands, which holds neither data nor secrets. */
export const commandRequested = event(
  'tasks',
  'command',
  'requested',
  z.strictObject({
    ...v,
    goal_id: GoalId,
    task_id: TaskId,
    /** Revision of the submit: a verdict on another one is void. */
    revision: z.int().positive(),
    argv: z.array(z.string()).min(1).max(100),
    cwd: z.string(),
    timeout_sec: z.int().min(1).max(COMMAND_TIMEOUT_MAX_SECONDS),
    /** GUILDHALL_TASK_ID and the like; never a secret. */
    env: z.record(z.string(), z.string()),
  }),
)
export type CommandRequested = z.infer<typeof commandRequested.schema>

export const commandFinished = event(
  'verifier',
  'command',
  'finished',
  z.strictObject({
    ...v,
    task_id: TaskId,
    revision: z.int().positive(),
    outcome: z.enum(['passed', 'failed', 'timed_out', 'refused']),
    exit_code: z.int().nullable(),
    output: z.string().max(COMMAND_OUTPUT_MAX_BYTES),
    output_truncated: z.boolean(),
    at: Millis,
  }),
)
export type CommandFinished = z.infer<typeof commandFinished.schema>

export const standingChanged = event(
  'reputation',
  'standing',
  'changed',
  z.strictObject({
    ...v,
    agent_id: AgentId,
    quarantined: z.boolean(),
    reason: z.string().nullable(),
    /** Who lifted it; null: it was set by evidence. */
    by_user_id: UserId.nullable(),
    at: Millis,
  }),
)
export type StandingChanged = z.infer<typeof standingChanged.schema>

export const secretChanged = event(
  'secrets',
  'secret',
  'changed',
  z.strictObject({
    ...v,
    scope_type: SecretScope,
    scope_id: z.int().positive(),
    name: z.string(),
    change: z.enum(['set', 'rotated', 'revoked']),
    at: Millis,
  }),
)
export type SecretChanged = z.infer<typeof secretChanged.schema>
