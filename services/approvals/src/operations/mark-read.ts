import type { Handler } from '@guildhall/bus'
import type { markRead } from '@guildhall/contracts'
import { transaction } from '@guildhall/db'
import { viewerOf, visibleChannel } from '../channels.ts'
import type { Deps } from '../deps.ts'
import { joinPublicIn, noSuchChannel, noSuchMessage } from '../messages.ts'
import { moveRead, viewChannel } from '../store/channel-views.ts'

export const handleMarkRead =
  (deps: Deps): Handler<typeof markRead> =>
  async ({ principal }, { channel_id, message_id }) => {
    const viewer = viewerOf(principal)
    const channel = await visibleChannel(deps, viewer, { channel_id })
    const at = new Date(deps.clock.now())
    const seen = await transaction(deps.db, async (trx) => {
      await joinPublicIn(trx, principal, channel, at)
      if (!(await moveRead(trx, viewer, { channel_id, message_id }))) throw noSuchMessage()
      return await viewChannel(trx, viewer, { channel_id })
    })
    if (seen === undefined) throw noSuchChannel()
    return { channel_id, unread: seen.unread }
  }
