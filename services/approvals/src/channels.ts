import {
  type Channel,
  goalChannelId,
  goalOfChannel,
  holderName,
  type Principal,
  ServiceError,
} from '@guildhall/contracts'
import { type Trx, transaction } from '@guildhall/db'
import type { Deps } from './deps.ts'
import { goalChannelIn, noSuchChannel } from './messages.ts'
import type { SharedRecords } from './shared-records.ts'
import { type Viewer, viewChannel } from './store/channel-views.ts'
import { findChannel } from './store/channels.ts'

/** Which channel a caller means, and whether it is one for them to see. */

export const viewerOf = (principal: Principal): Viewer => ({
  user_id: principal.user_id,
  member: holderName(principal),
})

type ChannelKeyOf = { readonly channel_id: number } | { readonly name: string }

/** Exactly one of the ways to name it. */
export const chosenChannel = ({
  channel_id,
  channel,
}: {
  readonly channel_id?: number | undefined
  readonly channel?: string | undefined
}): ChannelKeyOf => {
  if (channel_id !== undefined && channel === undefined) return { channel_id }
  if (channel !== undefined && channel_id === undefined) return { name: channel }
  throw new ServiceError('invalid_argument', 'name one channel: by channel_id or by channel')
}

/**
 * Makes the channel of a goal that was created a moment ago and whose event is still under way.
 * Whoever was told the goal's channel can use it at once.
 */
const ensureGoalChannel = async (
  { db, records, clock }: Deps,
  user_id: number,
  channel_id: number,
): Promise<void> => {
  const goal_id = goalOfChannel(channel_id)
  if (goal_id === undefined) return
  if ((await findChannel(db, { user_id, channel_id })) !== undefined) return
  const goal = await records.goal(user_id, goal_id)
  if (goal === undefined) return
  await transaction(db, (trx) => goalChannelIn(trx, goal, new Date(clock.now())))
}

/** The channel of a goal that something is to be said in, made if need be. */
export const goalChannelOfIn = async (
  trx: Trx,
  records: SharedRecords,
  user_id: number,
  goal_id: number,
  at: Date,
): Promise<number> => {
  const channel_id = goalChannelId(goal_id)
  if ((await findChannel(trx, { user_id, channel_id })) !== undefined) return channel_id
  const goal = await records.goal(user_id, goal_id)
  // Events and records take different ways: the record may be yet to come. But not for ever, so this
  // is none of the errors that are tried again until they are gone.
  if (goal === undefined) throw new Error(`goal ${goal_id} of user ${user_id} is not known yet`)
  return await goalChannelIn(trx, goal, at)
}

/** Unknown, foreign, and private without being in it are one: there is no such channel. */
export const visibleChannel = async (
  deps: Deps,
  viewer: Viewer,
  key: ChannelKeyOf,
): Promise<Channel> => {
  const seen = await viewChannel(deps.db, viewer, key)
  if (seen !== undefined) return seen
  if ('channel_id' in key) {
    await ensureGoalChannel(deps, viewer.user_id, key.channel_id)
    const made = await viewChannel(deps.db, viewer, key)
    if (made !== undefined) return made
  }
  throw noSuchChannel()
}

/** A cursor is the last id that was shown: a place in the caller's own list, and nothing else. */
export const readIdCursor = (cursor: string | undefined, operation: string): number | null => {
  if (cursor === undefined) return null
  const id = Number(cursor)
  if (/^[1-9][0-9]{0,15}$/.test(cursor) && Number.isSafeInteger(id)) return id
  throw new ServiceError('invalid_argument', `cursor: not one that ${operation} gave`)
}
