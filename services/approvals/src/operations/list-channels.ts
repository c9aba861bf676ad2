import type { Handler } from '@guildhall/bus'
import type { listChannels } from '@guildhall/contracts'
import { readIdCursor, viewerOf } from '../channels.ts'
import type { Deps } from '../deps.ts'
import { viewChannels } from '../store/channel-views.ts'

export const handleListChannels =
  ({ db }: Deps): Handler<typeof listChannels> =>
  async ({ principal }, { limit, cursor }) => {
    const before = readIdCursor(cursor, 'list_channels')
    // One more than asked for tells whether there is a next page.
    const found = await viewChannels(db, viewerOf(principal), { before, limit: limit + 1 })
    const channels = found.slice(0, limit)
    const last = channels.at(-1)
    return found.length > limit && last !== undefined
      ? { channels, next_cursor: String(last.channel_id) }
      : { channels }
  }
