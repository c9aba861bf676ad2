import { z } from 'zod'
import { AgentId, ApprovalId, ChannelId, GoalId, MessageId, TaskId, UserId } from './ids.ts'
import { LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX, TREE_NODES_MAX } from './limits.ts'
import { operation } from './operation.ts'
import { nodeShape, ProposedTree } from './task-tree.ts'
import { IdempotencyKey, Timestamp } from './todo.ts'

/** Whatever a human decides: one kind of record for all of it. Owned by the approvals service. */

export const ApprovalKind = z.enum(['task_tree', 'agent', 'resource', 'action'])
export type ApprovalKind = z.infer<typeof ApprovalKind>

/**
 *   pending -> approved -> executed
 *   pending -> rejected | changes_requested | expired | cancelled
 *   approved -> pending when its execution was refused: the reason stands in `failure`
 */
export const ApprovalStatus = z.enum([
  'pending',
  'approved',
  'executed',
  'rejected',
  'changes_requested',
  'expired',
  'cancelled',
])
export type ApprovalStatus = z.infer<typeof ApprovalStatus>

const rowShape = {
  approval_id: ApprovalId,
  kind: ApprovalKind,
  status: ApprovalStatus,
  title: z.string(),
  requested_by_agent_id: AgentId.nullable(),
  requested_by: z.string(),
  goal_id: GoalId.nullable(),
  task_id: TaskId.nullable(),
  channel_id: ChannelId,
  message_id: MessageId,
  digest: z.string().describe('SHA-256 of exactly what is shown; a decision may name it'),
  warnings: z.array(z.string()).describe('What the owner should see before anything else'),
  created_at: Timestamp,
  expires_at: Timestamp,
  decided_at: Timestamp.nullable(),
  decided_by_user_id: UserId.nullable(),
  reason: z.string().nullable(),
  failure: z.string().nullable().describe('Why the last approval could not be carried out'),
}
export const ApprovalRow = z.strictObject(rowShape)
export type ApprovalRow = z.infer<typeof ApprovalRow>

export const Approval = z.strictObject({
  ...rowShape,
  payload: z.record(z.string(), z.unknown()).describe('What is asked for, whole'),
  approved_payload: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe('What was approved, where the owner edited it'),
  approved_digest: z.string().nullable().describe('SHA-256 of exactly what was approved'),
  effect: z.record(z.string(), z.unknown()).nullable().describe('What came of it'),
})
export type Approval = z.infer<typeof Approval>

export const proposeTaskTree = operation({
  service: 'approvals',
  name: 'propose_task_tree',
  family: 'goals',
  access: 'write',
  tool: true,
  summary:
    'Propose a decomposition of the current goal into a tree of tasks. Does not create tasks; waits for human approval.',
  input: z.strictObject({
    goal_id: GoalId,
    reasoning: z.string().max(16_000).optional(),
    tree: ProposedTree,
    idempotency_key: IdempotencyKey.optional(),
  }),
  output: z.strictObject({
    proposal_message_id: MessageId,
    channel_id: ChannelId,
    approval_id: ApprovalId,
  }),
  errors: [
    'invalid_argument',
    'not_found',
    'forbidden',
    'conflict',
    'budget_exceeded',
    'ceiling_exceeded',
    'idempotency_conflict',
    'unavailable',
  ],
})

export const ResourceType = z.enum(['api_key', 'credential', 'url', 'file', 'other'])

export const requestResource = operation({
  service: 'approvals',
  name: 'request_resource',
  family: 'secrets',
  access: 'write',
  tool: true,
  summary:
    'Ask the human owner for a missing credential or resource. The value is never returned via MCP.',
  input: z.strictObject({
    name: z
      .string()
      .max(100)
      .regex(/^[A-Z][A-Z0-9_]*$/),
    resource_type: ResourceType,
    reason: z.string().min(5).max(4_000),
    task_id: TaskId,
  }),
  output: z.strictObject({ request_id: ApprovalId, request_message_id: MessageId }),
  errors: ['invalid_argument', 'not_found', 'forbidden', 'ceiling_exceeded', 'unavailable'],
})

export const listApprovals = operation({
  service: 'approvals',
  name: 'list_approvals',
  family: 'approvals',
  access: 'read',
  tool: true,
  summary: 'List approvals, newest first: an agent sees what it asked for, the owner everything.',
  input: z.strictObject({
    status: ApprovalStatus.optional(),
    kind: ApprovalKind.optional(),
    goal_id: GoalId.optional(),
    limit: z.int().min(1).max(LIST_LIMIT_MAX).default(LIST_LIMIT_DEFAULT),
    cursor: z.string().max(200).optional(),
  }),
  output: z.strictObject({
    approvals: z.array(ApprovalRow),
    waiting_on_you: z.int().min(0).describe('How many of the caller are pending'),
    next_cursor: z.string().optional(),
  }),
  errors: ['invalid_argument', 'unavailable'],
  http: { method: 'GET', path: '/api/approvals' },
})

export const getApproval = operation({
  service: 'approvals',
  name: 'get_approval',
  family: 'approvals',
  access: 'read',
  tool: true,
  summary: 'Show an approval with exactly what is asked for.',
  input: z.strictObject({ approval_id: ApprovalId }),
  output: Approval,
  errors: ['invalid_argument', 'not_found', 'unavailable'],
  http: { method: 'GET', path: '/api/approvals/{approval_id}' },
})

export const cancelApproval = operation({
  service: 'approvals',
  name: 'cancel_approval',
  family: 'approvals',
  access: 'write',
  tool: true,
  summary: 'Withdraw a pending approval that you asked for.',
  input: z.strictObject({ approval_id: ApprovalId, reason: z.string().max(4_000).optional() }),
  output: ApprovalRow,
  errors: ['invalid_argument', 'not_found', 'forbidden', 'conflict', 'unavailable'],
  http: { method: 'POST', path: '/api/approvals/{approval_id}/cancel' },
})

/** Changes to nodes of a proposed tree, by path: "" the root, "0" its first subtask, "0.2" ... */
export const TreeEdit = z.strictObject({
  path: z
    .string()
    .max(100)
    .regex(/^(\d{1,3}(\.\d{1,3})*)?$/)
    .describe('"" is the root, "0" its first subtask, "0.2" the third below that'),
  remove: z.boolean().optional(),
  ...z.strictObject(nodeShape).partial().shape,
})
export type TreeEdit = z.infer<typeof TreeEdit>

const decide = (decision: string) => ({
  method: 'POST' as const,
  path: `/api/approvals/{approval_id}/${decision.replace('_', '-')}`,
  fixed: { decision },
})

export const Decision = z.enum(['approve', 'reject', 'request_changes'])
export type Decision = z.infer<typeof Decision>

export const decideApproval = operation({
  service: 'approvals',
  name: 'decide_approval',
  family: 'approvals',
  access: 'write',
  tool: true,
  human_only: true,
  summary: 'Approve, reject or send back what an agent asked for. For the owner alone.',
  input: z.strictObject({
    approval_id: ApprovalId,
    decision: Decision,
    digest: z.string().max(100).optional().describe('Decide only if this is still what it says'),
    reason: z.string().max(4_000).optional().describe('Reaches the agent that asked'),
    edits: z
      .array(TreeEdit)
      .max(TREE_NODES_MAX)
      .optional()
      .describe('Approve a task tree with these changes; paths are those of the tree as proposed'),
  }),
  output: ApprovalRow,
  errors: [
    'invalid_argument',
    'not_found',
    'forbidden',
    'conflict',
    'budget_exceeded',
    'ceiling_exceeded',
    'idempotency_conflict',
    'unavailable',
  ],
  http: [decide('approve'), decide('reject'), decide('request_changes')],
})
