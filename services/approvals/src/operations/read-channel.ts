import type { Handler } from '@guildhall/bus'
import type { readChannel } from '@guildhall/contracts'
import { chosenChannel, readIdCursor, viewerOf, visibleChannel } from '../channels.ts'
import type { Deps } from '../deps.ts'
import { listMessagesBefore } from '../store/messages.ts'

export const handleReadChannel =
  (deps: Deps): Handler<typeof readChannel> =>
  async ({ principal }, { state = null, limit, cursor, ...choice }) => {
    const before = readIdCursor(cursor, 'read_channel')
    const channel = await visibleChannel(deps, viewerOf(principal), chosenChannel(choice))
    const { user_id } = principal
    const { channel_id } = channel
    const page = { user_id, channel_id, state, before, limit: limit + 1 }
    const found = await listMessagesBefore(deps.db, page)
    const messages = found.slice(0, limit)
    const last = messages.at(-1)
    return found.length > limit && last !== undefined
      ? { channel, messages, next_cursor: String(last.message_id) }
      : { channel, messages }
  }
