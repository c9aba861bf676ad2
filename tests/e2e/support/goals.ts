import {
  type Channel,
  claimCredential,
  type createGoal,
  getApproval,
  getGoal,
  grantableTools,
  listChannels,
  type Message,
  type OutputOf,
  proposeTaskTree,
  readChannel,
  type Task,
  type TaskNode,
} from '@guildhall/contracts'
import { waitFor } from '@guildhall/testing'
import type { Agent } from './agent.ts'
import { agentAt } from './agent.ts'
import { type Answer, send } from './http.ts'
import type { Owner, Vended } from './owner.ts'

/** Goals as an owner and agents live them, from outside. */

export const node = (title: string, more: Partial<TaskNode> = {}): TaskNode => ({
  title,
  description: 'What there is to do, in a sentence.',
  ...more,
})

/** Any agent of an owner, able to do whatever an agent can do. */
export const ableAgent = (owner: Owner, agent: string, mcp_url?: string): Promise<Vended> =>
  owner.vend({ agent, queues: ['inbox'], tools: [...grantableTools] }, mcp_url)

export const decide = (
  owner: Pick<Owner, 'rest'>,
  approval_id: number,
  decision: 'approve' | 'reject' | 'request-changes',
  body: object = {},
): Promise<Answer> => owner.rest('POST', `/approvals/${approval_id}/${decision}`, body)

type Shown = OutputOf<typeof getApproval>

/** Once what was approved has been carried out, or was refused. */
export const settled = (owner: Owner, approval_id: number): Promise<Shown> =>
  waitFor(
    async () => {
      const shown = await owner.call(getApproval, { approval_id })
      return shown.status === 'approved' ? undefined : shown
    },
    { what: `approval ${approval_id} to be settled` },
  )

export const propose = (
  coordinator: Agent,
  goal_id: number,
  tree: TaskNode,
): Promise<OutputOf<typeof proposeTaskTree>> =>
  coordinator.call(proposeTaskTree, { goal_id, tree: tree as never }) // deeper levels are loose in the schema

/** The tasks of a goal by their titles. */
export const tasksOf = async (owner: Owner, goal_id: number): Promise<Map<string, Task>> => {
  const { tasks_tree } = await owner.call(getGoal, { goal_id })
  return new Map(tasks_tree.map((task) => [task.title, task]))
}

type Goal = OutputOf<typeof createGoal>

/** A goal whose tree was proposed and approved. */
export const plannedGoal = async (
  owner: Owner,
  coordinator: Agent,
  tree: TaskNode,
  more: object = {},
): Promise<{ goal: Goal; tasks: Map<string, Task> }> => {
  const made = await owner.rest('POST', '/goals', {
    title: `Goal of ${tree.title}`,
    description: 'What is to be reached, in a sentence.',
    ...more,
  })
  if (made.status !== 200) throw new Error(`create_goal: ${made.status} ${made.text}`)
  const goal = made.body as Goal // as the status says
  const { approval_id } = await propose(coordinator, goal.goal_id, tree)
  const answer = await decide(owner, approval_id, 'approve')
  if (answer.status !== 200) throw new Error(`approve: ${answer.status} ${answer.text}`)
  const { status, failure } = await settled(owner, approval_id)
  if (status !== 'executed') throw new Error(`the tree was not carried out: ${failure}`)
  return { goal, tasks: await tasksOf(owner, goal.goal_id) }
}

export const taskNamed = (tasks: ReadonlyMap<string, Task>, title: string): Task => {
  const task = tasks.get(title)
  if (task === undefined) throw new Error(`no task ${title}`)
  return task
}

const channelNamed = async (owner: Owner, name: string): Promise<Channel> => {
  const { channels } = await owner.call(listChannels, { limit: 200 })
  const channel = channels.find((one) => one.name === name)
  if (channel === undefined) throw new Error(`no channel ${name}`)
  return channel
}

/** Newest first. */
export const messagesIn = async (owner: Owner, name: string): Promise<readonly Message[]> => {
  const { channel_id } = await channelNamed(owner, name)
  return (await owner.call(readChannel, { channel_id, limit: 200 })).messages
}

/** All messages of a channel that say this, once there is one. */
export const messagesThatSay = (
  owner: Owner,
  name: string,
  pattern: RegExp,
): Promise<readonly Message[]> =>
  waitFor(
    async () => {
      const found = (await messagesIn(owner, name)).filter(({ body }) => pattern.test(body))
      return found.length > 0 && found
    },
    { what: `a message in ${name} that says ${pattern}` },
  )

export const claimCredentialAt = (api_url: string, claim_token: string): Promise<Answer> =>
  send(`${api_url}/credentials/claim`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ claim_token }),
  })

/** The agent behind a one-time claim token, which is used up by this. */
export const agentOfClaim = async (
  api_url: string,
  claim_token: string,
): Promise<Agent & { readonly agent_id: number }> => {
  const answer = await claimCredentialAt(api_url, claim_token)
  if (answer.status !== 200) throw new Error(`claim: ${answer.status} ${answer.text}`)
  const { agent_id, token, mcp_url } = claimCredential.output.parse(answer.body)
  return { ...agentAt(mcp_url, token), agent_id }
}
