import {
  AgentName,
  AutonomyTier,
  GoalId,
  type GoalRecord,
  hashedConfigShape,
  namedError,
  type ServiceError,
  TaskId,
  type TaskRecord,
} from '@guildhall/contracts'
import { z } from 'zod'
import { capDelegation, type Delegation, foreignServers, type Violation } from './delegation.ts'
import type { StoredAgent } from './store/agents.ts'

/** What a proposed agent may be, given who proposes it and for what. No I/O. */

/** The payload of an approval of kind `agent`: everything that the agent will be made of. */
export const AgentProposal = z.strictObject({
  ...hashedConfigShape,
  name: AgentName,
  autonomy_tier: AutonomyTier,
  goal_id: GoalId,
  parent_task_id: TaskId,
  reason: z.string(),
  /** For whoever reads the proposal; computed again when the agent is made. */
  config_hash: z.string(),
  spawn_depth: z.int(),
})
export type AgentProposal = z.infer<typeof AgentProposal>

/** Where an agent is spawned: the goal, the task it is for, and the task of its proposer if any. */
export interface SpawnPlace {
  readonly goal: GoalRecord
  readonly task: TaskRecord
  readonly proposers_task: TaskRecord | undefined
}

const remainders = {
  budget_tokens: 'remaining_tokens',
  budget_dollars_cents: 'remaining_dollars_cents',
} as const
type BudgetField = keyof typeof remainders

/** What the proposer itself may still spend: of its own task, or else of the goal. */
const ownRemainder = ({ goal, proposers_task }: SpawnPlace, field: BudgetField): number | null =>
  proposers_task?.[remainders[field]] ?? goal[remainders[field]]

/** The pure rule reads 0 as "no limit"; a limit that is used up is told apart from that here. */
const usedUp = (place: SpawnPlace): readonly Violation[] =>
  (Object.keys(remainders) as BudgetField[]) // its own keys
    .filter((field) => ownRemainder(place, field) === 0)
    .map((field) => ({ field, problem: 'nothing is left to give' }))

const ORDER: readonly Violation['field'][] = [
  'autonomy_tier',
  'tool_scope',
  'budget_tokens',
  'budget_dollars_cents',
  'spawn_depth',
]

const delegationOf = (
  proposer: StoredAgent,
  proposed: Pick<AgentProposal, 'autonomy_tier' | 'tool_scope'>,
  place: SpawnPlace,
): Delegation => {
  const { effective, violations } = capDelegation(
    {
      autonomy_tier: proposer.autonomy_tier,
      tool_scope: proposer.tool_scope,
      budget_tokens: ownRemainder(place, 'budget_tokens') ?? 0,
      budget_dollars_cents: ownRemainder(place, 'budget_dollars_cents') ?? 0,
      spawn_depth: proposer.spawn_depth,
    },
    {
      ...proposed,
      budget_tokens: place.task.remaining_tokens ?? 0,
      budget_dollars_cents: place.task.remaining_dollars_cents ?? 0,
    },
    place.goal.max_spawn_depth,
  )
  const all = [...violations, ...usedUp(place)]
  return {
    effective,
    violations: ORDER.flatMap((field) => all.filter((violation) => violation.field === field)),
  }
}

const said = ({ field, problem }: Violation): string => `${field}: ${problem}`

const refusedFor = (violations: readonly Violation[]): ServiceError =>
  namedError(
    violations.every(({ field }) => field === 'spawn_depth')
      ? 'ErrSpawnDepthExceeded'
      : 'ErrDelegationCapExceeded',
    violations.map(said).join('; '),
    { details: { violations } },
  )

/** Throws with every violation at once. */
export const checkDelegation = (
  proposer: StoredAgent,
  proposed: Pick<AgentProposal, 'autonomy_tier' | 'tool_scope'>,
  place: SpawnPlace,
): Delegation['effective'] => {
  const { effective, violations } = delegationOf(proposer, proposed, place)
  if (violations.length > 0) throw refusedFor(violations)
  return effective
}

export const spawnWarnings = (
  proposer: StoredAgent,
  proposed: Pick<AgentProposal, 'mcp_servers'>,
): readonly string[] => [
  ...(proposer.quarantined_at === null
    ? []
    : [
        `The agent that proposes this is in quarantine: ${proposer.quarantine_reason ?? 'unknown'}`,
      ]),
  ...foreignServers(proposer.mcp_servers, proposed.mcp_servers).map(
    ({ name, url }) => `Gets an MCP server that its proposer does not have: ${name} (${url})`,
  ),
]
