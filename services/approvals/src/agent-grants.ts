import { grantOf, tools } from '@guildhall/contracts'

/**
 * What an agent's tool scope means on this system. A scope is a list of names that the owner
 * approved; it grants the tools of those names, plus what the names of other systems stand for.
 */

const ALIASES: Readonly<Record<string, readonly string[]>> = {
  'messages:read': ['read_channel', 'list_channels'],
  'messages:send': ['post_message'],
  'channels:read': ['list_channels', 'read_channel'],
  'reactions:add': ['react'],
}

/** Whoever works on the tasks of a goal needs these, whatever else it may do. */
const WORKER_TOOLS: readonly string[] = [
  'claim_task',
  'submit_task',
  'heartbeat',
  'release',
  'list_tasks',
  'get_goal',
  'list_resources',
  'request_resource',
  'get_approval',
  'list_approvals',
]

/** Grants by the names of the tools that they admit; what only people may do is not among them. */
const grantByTool: ReadonlyMap<string, string> = new Map(
  tools.filter((op) => op.human_only !== true).map((op) => [op.name, grantOf(op)]),
)

/** The grants of a spawned agent's endpoint, in a stable order. */
export const endpointGrants = (tool_scope: readonly string[]): string[] => {
  const named = [...WORKER_TOOLS, ...tool_scope.flatMap((name) => ALIASES[name] ?? [name])]
  return [...new Set(named.flatMap((name) => grantByTool.get(name) ?? []))].sort()
}

/** What the coordinator that every owner gets may hand on: everything that an agent can be given. */
export const coordinatorScope: readonly string[] = [
  ...Object.keys(ALIASES),
  ...new Set(grantByTool.values()),
].sort()
