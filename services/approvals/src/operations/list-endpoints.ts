import type { Handler } from '@guildhall/bus'
import { EndpointId, type listEndpoints, ServiceError } from '@guildhall/contracts'
import type { Deps } from '../deps.ts'
import { listEndpointsBefore } from '../store/endpoints.ts'

/** The cursor is the last id that was shown; what is made meanwhile is newer, and shifts nothing. */
const readCursor = (cursor: string | undefined): string | null => {
  if (cursor === undefined) return null
  const parsed = EndpointId.safeParse(cursor)
  if (parsed.success) return parsed.data
  throw new ServiceError('invalid_argument', 'cursor: not one that list_endpoints gave')
}

export const handleListEndpoints =
  ({ db }: Deps): Handler<typeof listEndpoints> =>
  async ({ principal: { user_id } }, { limit, cursor }) => {
    const before = readCursor(cursor)
    // One more than asked for tells whether there is a next page.
    const found = await listEndpointsBefore(db, { user_id, before, limit: limit + 1 })
    const endpoints = found.slice(0, limit)
    const last = endpoints.at(-1)
    return found.length > limit && last !== undefined
      ? { endpoints, next_cursor: last.endpoint_id }
      : { endpoints }
  }
