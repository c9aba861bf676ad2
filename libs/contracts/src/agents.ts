import { z } from 'zod'
import { AgentId, ApprovalId, GoalId, TaskId } from './ids.ts'
import { LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX } from './limits.ts'
import { operation } from './operation.ts'
import { IdempotencyKey, Timestamp } from './todo.ts'

/** Agents, what they are made of, and how new ones come to be. Owned by the approvals service. */

export const AutonomyTier = z.enum(['supervised', 'assisted', 'autonomous'])
export type AutonomyTier = z.infer<typeof AutonomyTier>

export const AgentName = z
  .string()
  .min(3)
  .max(64)
  .regex(/^[a-z][a-z0-9-]*$/)

const Label = z.string().min(1).max(200)
const Labels = z.array(Label).max(100)

export const McpServer = z.strictObject({
  name: Label,
  url: z.string().max(2_000),
  transport: Label,
})
export type McpServer = z.infer<typeof McpServer>

/** What config_hash is computed from. */
export const hashedConfigShape = {
  model: z.string().max(200),
  system_prompt: z.string().max(16_000),
  tool_scope: Labels,
  skills: Labels,
  mcp_servers: z.array(McpServer).max(50),
  subagents: Labels,
}
export const HashedConfig = z.strictObject(hashedConfigShape)
export type HashedConfig = z.infer<typeof HashedConfig>

const agentShape = {
  agent_id: AgentId,
  name: z.string(),
  display_name: z.string(),
  status: z.enum(['active', 'inactive']),
  model: z.string(),
  tool_scope: Labels,
  skills: Labels,
  mcp_servers: z.array(McpServer),
  subagents: Labels,
  autonomy_tier: AutonomyTier,
  config_hash: z.string(),
  spawn_depth: z.int().min(0),
  parent_agent_id: AgentId.nullable(),
  goal_id: GoalId.nullable().describe('The goal it was spawned for'),
  parent_task_id: TaskId.nullable(),
  coordinator_template: z.string().nullable(),
  quarantined_at: Timestamp.nullable(),
  quarantine_reason: z.string().nullable(),
  created_at: Timestamp,
  version: z.int().positive(),
}
/** Without its prompt: that is for the owner. */
export const AgentRow = z.strictObject(agentShape)
export type AgentRow = z.infer<typeof AgentRow>
export const Agent = z.strictObject({ ...agentShape, system_prompt: z.string() })
export type Agent = z.infer<typeof Agent>

export const listAgents = operation({
  service: 'approvals',
  name: 'list_agents',
  family: 'agents',
  access: 'read',
  tool: true,
  summary: 'List the agents of your owner.',
  input: z.strictObject({
    status: z.enum(['active', 'inactive']).optional(),
    limit: z.int().min(1).max(LIST_LIMIT_MAX).default(LIST_LIMIT_DEFAULT),
    cursor: z.string().max(200).optional(),
  }),
  output: z.strictObject({ agents: z.array(AgentRow), next_cursor: z.string().optional() }),
  errors: ['invalid_argument', 'unavailable'],
  http: { method: 'GET', path: '/api/agents' },
})

export const getAgent = operation({
  service: 'approvals',
  name: 'get_agent',
  family: 'agents',
  access: 'read',
  tool: false,
  human_only: true,
  summary: 'Show an agent with its whole configuration.',
  input: z.strictObject({ agent_id: AgentId }),
  output: Agent,
  errors: ['invalid_argument', 'not_found', 'unavailable'],
  http: { method: 'GET', path: '/api/agents/{agent_id}' },
})

const configInput = z
  .strictObject({
    ...hashedConfigShape,
    display_name: Label,
    autonomy_tier: AutonomyTier,
    coordinator_template: AgentName.nullable().describe(
      'Goals that name this template get this agent as their coordinator',
    ),
  })
  .partial().shape

export const createAgent = operation({
  service: 'approvals',
  name: 'create_agent',
  family: 'agents',
  access: 'write',
  tool: false,
  human_only: true,
  summary: 'Make an agent. It can do nothing until an endpoint is vended for it.',
  input: z.strictObject({
    name: AgentName,
    ...configInput,
    idempotency_key: IdempotencyKey.optional(),
  }),
  output: Agent,
  errors: [
    'invalid_argument',
    'not_found',
    'conflict',
    'ceiling_exceeded',
    'idempotency_conflict',
    'unavailable',
  ],
  http: { method: 'POST', path: '/api/agents' },
})

export const editAgent = operation({
  service: 'approvals',
  name: 'edit_agent',
  family: 'agents',
  access: 'write',
  tool: false,
  human_only: true,
  summary:
    'Change an agent. A change of its model, prompt, scope or servers makes it a new one to reputation.',
  input: z.strictObject({ agent_id: AgentId, ...configInput }),
  output: Agent,
  errors: ['invalid_argument', 'not_found', 'conflict', 'unavailable'],
  http: { method: 'PATCH', path: '/api/agents/{agent_id}' },
})

export const deactivateAgent = operation({
  service: 'approvals',
  name: 'deactivate_agent',
  family: 'agents',
  access: 'write',
  tool: false,
  human_only: true,
  summary: 'Deactivate an agent for good: its endpoints are revoked and its claims end.',
  input: z.strictObject({ agent_id: AgentId }),
  output: Agent,
  errors: ['invalid_argument', 'not_found', 'unavailable'],
  http: { method: 'POST', path: '/api/agents/{agent_id}/deactivate' },
})

export const proposeAgent = operation({
  service: 'approvals',
  name: 'propose_agent',
  family: 'agents',
  access: 'write',
  tool: true,
  summary:
    'Propose spawning a new specialist sub-agent. Subject to delegation-cap rule and spawn-depth limit.',
  input: z.strictObject({
    goal_id: GoalId,
    parent_task_id: TaskId,
    name: AgentName,
    model: z.string().min(1).max(200),
    system_prompt: z.string().min(20).max(16_000),
    tool_scope: Labels.min(1),
    skills: Labels.optional(),
    mcp_servers: z.array(McpServer).max(50).optional(),
    subagents: Labels.optional(),
    autonomy_tier: AutonomyTier,
    reason: z.string().min(10).max(4_000),
    idempotency_key: IdempotencyKey.optional(),
  }),
  output: z.strictObject({ proposal_id: ApprovalId, approval_message_id: z.int().positive() }),
  errors: [
    'invalid_argument',
    'not_found',
    'forbidden',
    'conflict',
    'ceiling_exceeded',
    'idempotency_conflict',
    'unavailable',
  ],
})

/** Called for whoever has the link: the answer is the credential, and there is one answer. */
export const claimCredential = operation({
  service: 'approvals',
  name: 'claim_credential',
  family: 'agents',
  access: 'write',
  tool: false,
  human_only: true,
  summary: 'Exchange the one-time claim token of a new agent for its credential.',
  input: z.strictObject({
    claim_token: z.string().min(1).max(200),
    client_address: z.string().max(64).optional().describe('Attempts are counted by it'),
  }),
  output: z.strictObject({
    agent_id: AgentId,
    agent_name: z.string(),
    token: z.string().describe('Shown this once'),
    mcp_url: z.string(),
    client_config: z.record(z.string(), z.record(z.string(), z.unknown())),
  }),
  errors: ['unauthenticated', 'rate_limited', 'unavailable'],
})

/** Switches of an owner for what is off until somebody wants it. */
export const Settings = z.strictObject({ command_verifiers_enabled: z.boolean() })
export type Settings = z.infer<typeof Settings>

export const getSettings = operation({
  service: 'approvals',
  name: 'get_settings',
  family: 'agents',
  access: 'read',
  tool: false,
  human_only: true,
  summary: 'Show your settings.',
  input: z.strictObject({}),
  output: Settings,
  errors: ['unavailable'],
  http: { method: 'GET', path: '/api/settings' },
})

export const setSettings = operation({
  service: 'approvals',
  name: 'set_settings',
  family: 'agents',
  access: 'write',
  tool: false,
  human_only: true,
  summary: 'Change your settings. What is omitted stays as it is.',
  input: Settings.partial(),
  output: Settings,
  errors: ['invalid_argument', 'unavailable'],
  http: { method: 'PATCH', path: '/api/settings' },
})

export const AuditRow = z.strictObject({
  audit_id: z.int().positive(),
  at: Timestamp,
  actor: z.string(),
  action: z.string(),
  object: z.string(),
  details: z.record(z.string(), z.unknown()),
  request_id: z.string(),
  hash: z.string().describe('SHA-256 over the hash before and this row'),
})
export type AuditRow = z.infer<typeof AuditRow>

export const listAudit = operation({
  service: 'approvals',
  name: 'list_audit',
  family: 'agents',
  access: 'read',
  tool: false,
  human_only: true,
  summary: 'List what was done and what was denied, newest first.',
  input: z.strictObject({
    actor: z.string().max(100).optional(),
    action: z.string().max(100).optional(),
    since: Timestamp.optional(),
    until: Timestamp.optional(),
    limit: z.int().min(1).max(LIST_LIMIT_MAX).default(LIST_LIMIT_DEFAULT),
    cursor: z.string().max(200).optional(),
  }),
  output: z.strictObject({ entries: z.array(AuditRow), next_cursor: z.string().optional() }),
  errors: ['invalid_argument', 'unavailable'],
  http: { method: 'GET', path: '/api/audit' },
})
