import type { AgentPrincipal, InputOf, proposeAgent, ServiceError } from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import { nameTaken } from './agents.ts'
import { askIn, lockAsker } from './ask.ts'
import { type Call, claimCall } from './call.ts'
import { configHash } from './config-hash.ts'
import { checkMayPropose, checkTaskOpen, existingGoal, existingTask } from './goal-checks.ts'
import type { SharedRecords } from './shared-records.ts'
import {
  type AgentProposal,
  checkDelegation,
  type SpawnPlace,
  spawnWarnings,
} from './spawn-rules.ts'
import { findActiveAgentNamed, type StoredAgent } from './store/agents.ts'
import { findApproval, reserveApprovalId, type StoredApproval } from './store/approvals.ts'

/** Read fresh, when an agent is proposed and again when the owner approves. */
export const readSpawnPlace = async (
  records: SharedRecords,
  proposer: StoredAgent,
  { goal_id, parent_task_id }: Pick<AgentProposal, 'goal_id' | 'parent_task_id'>,
): Promise<SpawnPlace> => {
  const { user_id } = proposer
  const goal = await existingGoal(records, user_id, goal_id)
  const task = await existingTask(records, goal, parent_task_id)
  const proposers_task =
    proposer.parent_task_id === null || proposer.goal_id !== goal_id
      ? undefined
      : await records.task(user_id, proposer.parent_task_id)
  return { goal, task, proposers_task }
}

const summaryOf = (proposer: StoredAgent, proposal: AgentProposal, task_title: string): string =>
  [
    `${proposer.name} proposes the agent ${proposal.name} (${proposal.autonomy_tier}, ${proposal.model}) for the task "${task_title}".`,
    `Reason: ${proposal.reason}`,
    `Tools: ${proposal.tool_scope.join(', ')}`,
    ...proposal.mcp_servers.map(({ name, url }) => `MCP server: ${name} (${url})`),
  ].join('\n')

const lostCall = (name: string): ServiceError => nameTaken(name)

export const proposeAgentIn = async (
  trx: Trx,
  records: SharedRecords,
  call: Call,
  principal: AgentPrincipal,
  input: InputOf<typeof proposeAgent>,
): Promise<StoredApproval> => {
  const { user_id } = call
  const { repeat, object_id } = await claimCall(trx, call, String(await reserveApprovalId(trx)))
  const approval_id = Number(object_id)
  if (repeat) {
    const earlier = await findApproval(trx, { user_id, approval_id })
    if (earlier === undefined) throw lostCall(input.name)
    return earlier
  }
  const proposer = await lockAsker(trx, principal)
  if (proposer === undefined) throw lostCall(input.name)
  const { idempotency_key: _, skills = [], mcp_servers = [], subagents = [], ...rest } = input
  const config = { ...rest, skills, mcp_servers, subagents }
  const place = await readSpawnPlace(records, proposer, config)
  checkMayPropose(place.goal)
  checkTaskOpen(place.task)
  const { spawn_depth } = checkDelegation(proposer, config, place)
  if ((await findActiveAgentNamed(trx, { user_id, name: input.name })) !== undefined) {
    throw nameTaken(input.name)
  }
  const proposal: AgentProposal = { ...config, config_hash: configHash(config), spawn_depth }
  const approval = await askIn(trx, call, proposer, approval_id, {
    kind: 'agent',
    channel: 'approvals',
    message_kind: 'agent_proposal',
    title: `New agent ${input.name}, proposed by ${proposer.name}`,
    body: summaryOf(proposer, proposal, place.task.title),
    payload: proposal,
    warnings: spawnWarnings(proposer, proposal),
    goal_id: input.goal_id,
    task_id: input.parent_task_id,
  })
  if (approval === undefined) throw lostCall(input.name)
  return approval
}
