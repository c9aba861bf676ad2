import { z } from 'zod'
import { AgentId } from './ids.ts'
import {
  COMMAND_TIMEOUT_DEFAULT_SECONDS,
  COMMAND_TIMEOUT_MAX_SECONDS,
  GOAL_DESCRIPTION_MIN_CHARS,
  GOAL_TITLE_MAX_CHARS,
  GOAL_TITLE_MIN_CHARS,
  TASK_TEXT_MAX_CHARS,
  TREE_DEPTH_MAX,
  TREE_NODES_MAX,
} from './limits.ts'

/**
 * A proposed tree of tasks. Many clients know no `$ref`, so the schema that they see describes two
 * levels and names the keys of deeper ones in words; `TaskNode` is the whole recursion, and what the
 * service validates with.
 */

/** One object with optional fields, since clients refuse a parameter without a type of its own. */
export const VerifierConfig = z
  .strictObject({
    kind: z.enum(['auto', 'peer', 'command']),
    agent_id: AgentId.optional().describe('peer: the agent that gives the verdict'),
    cmd: z
      .string()
      .min(1)
      .max(2_000)
      .optional()
      .describe('command: program and arguments, split at spaces and quotes; no shell'),
    cwd: z.string().max(500).optional().describe("command: a folder below the goal's own"),
    timeout_sec: z
      .int()
      .min(1)
      .max(COMMAND_TIMEOUT_MAX_SECONDS)
      .optional()
      .describe(`command: default ${COMMAND_TIMEOUT_DEFAULT_SECONDS}`),
  })
  .refine(({ kind, agent_id }) => (kind === 'peer') === (agent_id !== undefined), {
    path: ['agent_id'],
    message: 'is required for a peer verifier, and for no other',
  })
  .refine(({ kind, cmd }) => (kind === 'command') === (cmd !== undefined), {
    path: ['cmd'],
    message: 'is required for a command verifier, and for no other',
  })
  .refine(
    ({ kind, cwd, timeout_sec }) =>
      kind === 'command' || (cwd === undefined && timeout_sec === undefined),
    { path: ['kind'], message: 'cwd and timeout_sec belong to a command verifier' },
  )
export type VerifierConfig = z.infer<typeof VerifierConfig>

export const AUTO_VERIFIER: VerifierConfig = { kind: 'auto' }

export const BillingCode = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_./-]{0,99}$/)

export const nodeShape = {
  title: z.string().min(GOAL_TITLE_MIN_CHARS).max(GOAL_TITLE_MAX_CHARS),
  description: z.string().min(GOAL_DESCRIPTION_MIN_CHARS).max(TASK_TEXT_MAX_CHARS),
  acceptance_criteria: z.string().max(TASK_TEXT_MAX_CHARS).optional(),
  billing_code: BillingCode.optional().describe('Its first segment is the domain of reputation'),
  budget_tokens: z.int().min(0).optional(),
  budget_dollars_cents: z.int().min(0).optional(),
  verifier_config: VerifierConfig.optional().describe('Without it: auto'),
}

const KEYS_IN_WORDS = Object.keys(nodeShape).join(', ')

const DeeperNode = z.looseObject({
  title: nodeShape.title,
  description: nodeShape.description,
})

export const ProposedTree = z.strictObject({
  ...nodeShape,
  children: z
    .array(
      z.strictObject({
        ...nodeShape,
        children: z
          .array(DeeperNode)
          .optional()
          .describe(
            `Subtasks of the same form: ${KEYS_IN_WORDS}, children. At most ${TREE_NODES_MAX} nodes and ${TREE_DEPTH_MAX} levels in all.`,
          ),
      }),
    )
    .optional()
    .describe('Subtasks. Only tasks without subtasks are worked on.'),
})

export interface TaskNode {
  title: string
  description: string
  acceptance_criteria?: string | undefined
  billing_code?: string | undefined
  budget_tokens?: number | undefined
  budget_dollars_cents?: number | undefined
  verifier_config?: VerifierConfig | undefined
  children?: TaskNode[] | undefined
}

/** Depth and size are checked before this is applied: recursion over foreign input is bounded. */
export const TaskNode: z.ZodType<TaskNode> = z.lazy(() =>
  z.strictObject({ ...nodeShape, children: z.array(TaskNode).optional() }),
)
