import type { CallContext, Handler } from '@guildhall/bus'
import {
  type Channel,
  type InputOf,
  MESSAGE_METADATA_MAX_BYTES,
  type Message,
  postMessage,
  ServiceError,
} from '@guildhall/contracts'
import { type Trx, transaction } from '@guildhall/db'
import { audit, type Call, callOf, claimCall } from '../call.ts'
import { chosenChannel, viewerOf, visibleChannel } from '../channels.ts'
import type { Deps } from '../deps.ts'
import {
  directChannelIn,
  joinPublicIn,
  noSuchAgent,
  noSuchChannel,
  noSuchMessage,
  postMessageIn,
} from '../messages.ts'
import { findAgent } from '../store/agents.ts'
import { viewChannel } from '../store/channel-views.ts'
import { findMessage, isInChannel, reserveMessageId } from '../store/messages.ts'
import { cleanText } from '../text.ts'

type Input = InputOf<typeof postMessage>

const checkSize = ({ body, metadata }: Input): void => {
  if (cleanText(body) === '') throw new ServiceError('invalid_argument', 'body: says nothing')
  const bytes = Buffer.byteLength(JSON.stringify(metadata ?? {}))
  if (bytes > MESSAGE_METADATA_MAX_BYTES) {
    throw new ServiceError(
      'payload_too_large',
      `metadata: at most ${MESSAGE_METADATA_MAX_BYTES} bytes as JSON, this is ${bytes}`,
    )
  }
}

/** Where it goes: the channel that the caller is in, or undefined for a direct message. */
const target = async (deps: Deps, ctx: CallContext, input: Input): Promise<Channel | undefined> => {
  const { channel_id, channel, to_agent_id } = input
  if (to_agent_id === undefined) {
    return await visibleChannel(deps, viewerOf(ctx.principal), chosenChannel(input))
  }
  if (channel_id === undefined && channel === undefined) return undefined
  throw new ServiceError('invalid_argument', 'name a channel or to_agent_id, not both')
}

/** The agent's own channel, which its sender need not be in. */
const directChannelTo = async (trx: Trx, call: Call, agent_id: number): Promise<number> => {
  const { user_id, now } = call
  if ((await findAgent(trx, { user_id, agent_id })) === undefined) throw noSuchAgent()
  return await directChannelIn(trx, user_id, agent_id, now)
}

/** The channel, of which the caller is a member still, now that it matters. */
const joinedChannel = async (
  trx: Trx,
  { principal }: CallContext,
  channel: Channel,
  now: Date,
): Promise<number> => {
  await joinPublicIn(trx, principal, channel, now)
  const { channel_id } = channel
  if ((await viewChannel(trx, viewerOf(principal), { channel_id })) === undefined) {
    throw noSuchChannel()
  }
  return channel_id
}

const postIn = async (
  trx: Trx,
  ctx: CallContext,
  call: Call,
  input: Input,
  channel: Channel | undefined,
): Promise<Message> => {
  const { user_id, actor, now } = call
  const { to_agent_id, kind, body, metadata = {}, reply_to = null } = input
  const channel_id =
    channel === undefined
      ? await directChannelTo(trx, call, to_agent_id ?? 0)
      : await joinedChannel(trx, ctx, channel, now)
  const reserved = await reserveMessageId(trx, { user_id, channel_id })
  if (reserved === undefined) throw noSuchChannel()
  const { repeat, object_id } = await claimCall(trx, call, String(reserved))
  const message_id = Number(object_id)
  if (!repeat) {
    if (reply_to !== null && !(await isInChannel(trx, { user_id, channel_id }, reply_to))) {
      throw noSuchMessage()
    }
    const agent_id = ctx.principal.kind === 'agent' ? ctx.principal.agent_id : null
    await postMessageIn(trx, {
      user_id,
      channel_id,
      from: actor,
      agent_id,
      kind,
      body,
      metadata,
      reply_to,
      at: now,
      message_id,
    })
    await audit(trx, call, 'message.posted', `message:${message_id}`, { channel_id, kind })
  }
  const message = await findMessage(trx, { user_id, message_id })
  if (message === undefined) throw noSuchMessage()
  return message
}

export const handlePostMessage =
  (deps: Deps): Handler<typeof postMessage> =>
  async (ctx, input) => {
    checkSize(input)
    const call = callOf(deps, ctx, postMessage, input)
    const channel = await target(deps, ctx, input)
    return await transaction(deps.db, (trx) => postIn(trx, ctx, call, input, channel))
  }
