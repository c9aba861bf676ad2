import type { Handler } from '@guildhall/bus'
import { type Channel, createChannel, ServiceError, systemChannels } from '@guildhall/contracts'
import { type Trx, transaction } from '@guildhall/db'
import { audit, type Call, callOf, claimCall } from '../call.ts'
import { viewerOf } from '../channels.ts'
import type { Deps } from '../deps.ts'
import { CHANNELS_PER_USER_MAX } from '../limits.ts'
import { noSuchChannel } from '../messages.ts'
import { countOwnChannels, type Viewer, viewChannel } from '../store/channel-views.ts'
import { addMember, insertChannel, type NewChannel } from '../store/channels.ts'
import { lockUser } from '../store/users.ts'
import { cleanText } from '../text.ts'

/** The system names channels so by itself, and must find the name free. */
const RESERVED = /^(dm|goal)-/

const nameTaken = (name: string): ServiceError =>
  new ServiceError('conflict', `a channel named ${name} is there already`, {
    what_to_do: 'Use it, or choose another name.',
  })

const checkName = (name: string): void => {
  if (Object.hasOwn(systemChannels, name)) throw nameTaken(name)
  if (RESERVED.test(name)) {
    throw new ServiceError('invalid_argument', 'name: dm- and goal- are for the system')
  }
}

const createIn = async (
  trx: Trx,
  call: Call,
  viewer: Viewer,
  channel: NewChannel,
): Promise<Channel> => {
  const { user_id, now } = call
  const { name } = channel
  // The name tells a repeat what the first call made: it is unique, and stays.
  if (!(await claimCall(trx, call, name)).repeat) {
    await lockUser(trx, user_id)
    if ((await countOwnChannels(trx, user_id)) >= CHANNELS_PER_USER_MAX) {
      throw new ServiceError(
        'ceiling_exceeded',
        `there are ${CHANNELS_PER_USER_MAX} channels already`,
      )
    }
    const channel_id = await insertChannel(trx, channel)
    if (channel_id === undefined) throw nameTaken(name)
    await addMember(trx, { user_id, channel_id, role: 'owner', joined_at: now })
    await audit(trx, call, 'channel.created', `channel:${channel_id}`, { name })
  }
  const made = await viewChannel(trx, viewer, { name })
  if (made === undefined) throw noSuchChannel()
  return made
}

export const handleCreateChannel =
  (deps: Deps): Handler<typeof createChannel> =>
  async (ctx, input) => {
    checkName(input.name)
    const call = callOf(deps, ctx, createChannel, input)
    const channel: NewChannel = {
      ...input,
      user_id: call.user_id,
      topic: cleanText(input.topic),
      type: 'standard',
      system: false,
      created_at: call.now,
    }
    const viewer = viewerOf(ctx.principal)
    return await transaction(deps.db, (trx) => createIn(trx, call, viewer, channel))
  }
