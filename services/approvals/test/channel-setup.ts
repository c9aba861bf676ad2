import { createKv, publish } from '@guildhall/bus'
import {
  type AgentPrincipal,
  buckets,
  type Channel,
  createChannel,
  type GoalChanged,
  GoalRecord,
  goalChannelId,
  goalKey,
  inviteAgent,
  type Message,
  type Principal,
  postMessage,
} from '@guildhall/contracts'
import type { Test } from 'tap'
import { agentOf, type Setup, setup } from './setup.ts'

const AGENT_TOOLS = [
  'propose_task_tree',
  'get_approval',
  'list_channels',
  'read_channel',
  'mark_read',
  'post_message',
  'react',
]

const vendAgent = async (s: Setup, name: string): Promise<AgentPrincipal> =>
  agentOf((await s.vend({ agent: { name }, tools: AGENT_TOOLS })).endpoint)

/** Ann, two agents of hers, and a private channel in which only the first one is. */
export const channelSetup = async (t: Test) => {
  const s = await setup(t)
  const scout = await vendAgent(s, 'scout')
  const clerk = await vendAgent(s, 'clerk')
  const channel = await s.call(createChannel, { name: 'plans' }, { principal: s.ann })
  const { channel_id } = channel
  await s.call(inviteAgent, { channel_id, agent_id: scout.agent_id }, { principal: s.ann })
  const post = (principal: Principal, body: string, to: Partial<Channel> = channel) =>
    s.call(postMessage, { channel_id: to.channel_id, body }, { principal })
  return { ...s, scout, clerk, channel, post }
}

export type ChannelSetup = Awaited<ReturnType<typeof channelSetup>>

export const bodies = (messages: readonly Message[]): string[] => messages.map(({ body }) => body)

/** What the tasks service writes about a goal. */
export const goalRecord = (user_id: number, goal_id: number, agent_id: number): GoalRecord => ({
  v: 1,
  version: 1,
  goal_id,
  user_id,
  slug: `goal-number-${goal_id}`,
  title: `Goal number ${goal_id}`,
  channel_id: goalChannelId(goal_id),
  coordinator_agent_id: agent_id,
  status: 'draft',
  max_spawn_depth: 3,
  budget_tokens: null,
  budget_dollars_cents: null,
  remaining_tokens: null,
  remaining_dollars_cents: null,
})

export const putGoal = async (s: Setup, goal: GoalRecord): Promise<void> => {
  const goals = createKv(s.bus, buckets.goals, GoalRecord)
  await goals.put(goalKey(goal.user_id, goal.goal_id), goal)
}

export const goalEvent = (
  { user_id, goal_id, slug, title, coordinator_agent_id, status }: GoalRecord,
  change: GoalChanged['change'],
  at: number,
): GoalChanged => ({
  v: 1,
  user_id,
  goal_id,
  slug,
  title,
  coordinator_agent_id,
  status,
  change,
  at,
})

export const emit = async (
  s: Setup,
  subject: string,
  event: object,
  msg_id: string,
): Promise<void> => {
  await publish(s.bus, subject, event, { msg_id })
}
