import {
  type Channel,
  goalChannelId,
  type MessageKind,
  namedError,
  type Principal,
  ServiceError,
} from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import {
  addMember,
  findChannel,
  findChannelId,
  insertChannel,
  type NewChannel,
} from './store/channels.ts'
import { insertMessage } from './store/messages.ts'
import { cleanFields, cleanText } from './text.ts'

/**
 * What a change says to people and agents, as a step of its transaction: the channel is there when
 * it is needed, and a message exists exactly if what it tells of does.
 */

export const noSuchChannel = (): ServiceError =>
  namedError('ErrNotMember', 'there is no such channel')

export const noSuchMessage = (): ServiceError =>
  new ServiceError('not_found', 'there is no such message')

export const noSuchAgent = (): ServiceError =>
  new ServiceError('not_found', 'there is no such agent')

const ownerOf = (user_id: number, channel_id: number, joined_at: Date) =>
  ({ user_id, channel_id, role: 'owner', joined_at }) as const

/** Makes the channel with its members, unless it is there. */
const ensureChannelIn = async (
  trx: Trx,
  channel: NewChannel,
  agent_id?: number,
): Promise<number> => {
  const { user_id, created_at } = channel
  const known = await findChannelId(trx, channel)
  if (known !== undefined) return known
  const made = await insertChannel(trx, channel)
  if (made === undefined) {
    // Made by another transaction meanwhile; the insert waited for its end.
    const theirs = await findChannelId(trx, channel)
    if (theirs === undefined) throw noSuchChannel()
    return theirs
  }
  await addMember(trx, ownerOf(user_id, made, created_at))
  if (agent_id !== undefined) {
    const member = { user_id, channel_id: made, agent_id, joined_at: created_at }
    await addMember(trx, { ...member, role: 'member' })
  }
  return made
}

const systemChannelTopics = {
  approvals: 'What waits for your decision',
  requests: 'What agents need from you',
  inbox: 'What you should know',
} as const
export type SystemChannelName = keyof typeof systemChannelTopics

/** Of the owner alone: agents are not members. */
export const systemChannelIn = (
  trx: Trx,
  user_id: number,
  name: SystemChannelName,
  at: Date,
): Promise<number> =>
  ensureChannelIn(trx, {
    user_id,
    name,
    type: 'standard',
    private: true,
    system: true,
    topic: systemChannelTopics[name],
    created_at: at,
  })

/** Of the owner and this agent. What other agents have to say to it is posted there as well. */
export const directChannelIn = (
  trx: Trx,
  user_id: number,
  agent_id: number,
  at: Date,
): Promise<number> =>
  ensureChannelIn(
    trx,
    {
      user_id,
      name: `dm-${agent_id}`,
      type: 'direct',
      private: true,
      system: true,
      topic: '',
      agent_id,
      created_at: at,
    },
    agent_id,
  )

interface GoalOfChannel {
  readonly user_id: number
  readonly goal_id: number
  readonly slug: string
  readonly title: string
  readonly coordinator_agent_id: number
}

/** Of the owner and the goal's coordinator; whoever works on the goal joins later. */
export const goalChannelIn = async (
  trx: Trx,
  { user_id, goal_id, slug, title, coordinator_agent_id }: GoalOfChannel,
  at: Date,
): Promise<number> => {
  const channel_id = goalChannelId(goal_id)
  if ((await findChannel(trx, { user_id, channel_id })) !== undefined) return channel_id
  return await ensureChannelIn(
    trx,
    {
      user_id,
      channel_id,
      name: `goal-${slug}`,
      type: 'blackboard',
      private: true,
      system: true,
      topic: cleanText(title),
      goal_id,
      agent_id: coordinator_agent_id,
      created_at: at,
    },
    coordinator_agent_id,
  )
}

interface Posting {
  readonly user_id: number
  readonly channel_id: number
  /** `agent:<id>`, `human:<id>` or `system`. */
  readonly from: string
  /** The agent that it comes from, or is about. */
  readonly agent_id?: number | null
  readonly kind: MessageKind
  readonly body: string
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly approval_id?: number | null
  readonly reply_to?: number | null
  readonly at: Date
  /** Reserved before in this transaction. */
  readonly message_id?: number
}

export interface Posted {
  readonly message_id: number
  readonly channel_id: number
}

export const postMessageIn = async (
  trx: Trx,
  { body, metadata = {}, ...posting }: Posting,
): Promise<Posted> => {
  const message_id = await insertMessage(trx, {
    ...posting,
    body: cleanText(body),
    metadata: cleanFields(metadata),
  })
  if (message_id === undefined) throw noSuchChannel()
  return { message_id, channel_id: posting.channel_id }
}

/** Whoever takes part in a public channel is in it from then on. */
export const joinPublicIn = async (
  trx: Trx,
  principal: Principal,
  { channel_id, private: is_private }: Pick<Channel, 'channel_id' | 'private'>,
  joined_at: Date,
): Promise<void> => {
  if (is_private || principal.kind === 'human') return
  const { user_id, agent_id } = principal
  await addMember(trx, { user_id, channel_id, agent_id, role: 'member', joined_at })
}
