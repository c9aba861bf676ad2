import type { CallContext } from '@guildhall/bus'
import type { InputOf } from '@guildhall/contracts'
import { type inviteAgent, namedError, type Operation, ServiceError } from '@guildhall/contracts'
import { type Trx, transaction } from '@guildhall/db'
import { audit, type Call, callOf } from './call.ts'
import { viewerOf, visibleChannel } from './channels.ts'
import type { Deps } from './deps.ts'
import { noSuchAgent, noSuchChannel } from './messages.ts'
import { findAgent } from './store/agents.ts'
import { addMember, type ChannelFacts, deleteMember, findChannel } from './store/channels.ts'

/** Who is in a channel is for its owner to say, but for what a channel is there for. */

const staysAsItIs = (message: string): ServiceError => namedError('ErrSystemChannel', message)

/** A direct channel is for two, and the owner's own channels are for the owner. */
const refuseClosed = ({ system, type, name }: ChannelFacts): void => {
  if (system && type !== 'blackboard') throw staysAsItIs(`nobody joins or leaves ${name}`)
}

const inviteIn = async (
  trx: Trx,
  call: Call,
  channel: ChannelFacts,
  agent_id: number,
): Promise<void> => {
  const { user_id, channel_id } = channel
  const member = { user_id, channel_id, agent_id, role: 'member', joined_at: call.now } as const
  if (!(await addMember(trx, member))) return
  await audit(trx, call, 'channel.agent_invited', `channel:${channel_id}`, { agent_id })
}

const removeIn = async (
  trx: Trx,
  call: Call,
  channel: ChannelFacts,
  agent_id: number,
): Promise<void> => {
  const { user_id, channel_id } = channel
  if (channel.agent_id === agent_id) throw staysAsItIs('a goal keeps its coordinator')
  if (!channel.private) {
    throw new ServiceError('conflict', 'a channel that is not private is open to all your agents', {
      what_to_do: 'Make a private channel, and invite whom you want in it.',
    })
  }
  if (!(await deleteMember(trx, { user_id, channel_id, agent_id }))) return
  await audit(trx, call, 'channel.agent_removed', `channel:${channel_id}`, { agent_id })
}

const changes = { invite: inviteIn, remove: removeIn }

/** A repeat finds it done, and answers as the first call did. */
export const changeMembership =
  (deps: Deps, op: Operation, change: keyof typeof changes) =>
  async (ctx: CallContext, input: InputOf<typeof inviteAgent>) => {
    const call = callOf(deps, ctx, op, input)
    const { user_id } = call
    const { channel_id, agent_id } = input
    await visibleChannel(deps, viewerOf(ctx.principal), { channel_id })
    await transaction(deps.db, async (trx) => {
      const channel = await findChannel(trx, { user_id, channel_id })
      if (channel === undefined) throw noSuchChannel()
      if ((await findAgent(trx, { user_id, agent_id })) === undefined) throw noSuchAgent()
      refuseClosed(channel)
      await changes[change](trx, call, channel, agent_id)
    })
    return { channel_id, agent_id, member: change === 'invite' }
  }
