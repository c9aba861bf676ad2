import { type Operation, operations } from '@guildhall/contracts'
import { node } from './goals.ts'

/**
 * Whatever names an object of goals, approvals, channels, agents or secrets, with arguments that are
 * right but for whose object it is: so that the answer can only be about the object.
 */

export type GoalIds = Readonly<
  Record<
    | 'goal_id'
    | 'parent_task_id'
    | 'task_id'
    | 'approval_id'
    | 'message_id'
    | 'channel_id'
    | 'agent_id'
    | 'to_agent_id'
    | 'scope_id',
    number
  >
>

const NOBODYS = 900_000_001

export const nobodysGoalIds = (hers: GoalIds): GoalIds =>
  Object.fromEntries(Object.keys(hers).map((field) => [field, NOBODYS])) as GoalIds // the same keys

const FAMILIES = ['goals', 'approvals', 'channels', 'agents', 'reputation', 'secrets']
const NAMES_A_SECRET = ['set_secret', 'rotate_secret', 'revoke_secret', 'request_resource']

/** What else an operation wants. */
const REST: Readonly<Record<string, unknown>> = {
  name: 'of-a-stranger',
  model: 'a-model',
  system_prompt: 'You read documents and list what is wrong.',
  tool_scope: ['read_channel'],
  autonomy_tier: 'supervised',
  reason: 'because a stranger wants it',
  tree: node('of a stranger'),
  verdict: 'approve',
  decision: 'approve',
  reaction: 'done',
  resource_type: 'api_key',
  body: 'of a stranger',
  scope_type: 'task',
  value: 'a-value-of-a-stranger',
  secret: 'A_NAME',
  method: 'GET',
  url: 'https://api.example.com/?key={{A_NAME}}',
}

const fieldsOf = ({ input }: Operation): readonly string[] =>
  'shape' in input ? Object.keys(input.shape as object) : [] // zod's objects carry their fields here

export const goalArgumentsFor = (op: Operation, ids: GoalIds): Record<string, unknown> => {
  const all: Record<string, unknown> = {
    ...REST,
    ...ids,
    ...(NAMES_A_SECRET.includes(op.name) ? { name: 'A_NAME' } : {}),
  }
  // A message goes to a channel or to an agent.
  const left_out = op.name === 'post_message' ? ['channel_id'] : []
  return Object.fromEntries(
    fieldsOf(op)
      .filter((field) => field in all && !left_out.includes(field))
      .map((field) => [field, all[field]]),
  )
}

/** Every operation that can be given such an id. */
export const operationsOnGoals = (hers: GoalIds): readonly Operation[] =>
  (operations as readonly Operation[]).filter(
    (op) =>
      FAMILIES.includes(op.family) &&
      Object.keys(goalArgumentsFor(op, hers)).some((field) => field in hers),
  )
