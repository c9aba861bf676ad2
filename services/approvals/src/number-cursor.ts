import { ServiceError } from '@guildhall/contracts'

const ID = /^[1-9]\d{0,15}$/

/** A cursor is the last id that was shown; what is made meanwhile is newer, and shifts nothing. */
export const readNumberCursor = (cursor: string | undefined): number | null => {
  if (cursor === undefined) return null
  if (ID.test(cursor)) return Number(cursor)
  throw new ServiceError('invalid_argument', 'cursor: not one that this list gave')
}

/** Of one more than was asked for: the page, and where the next one begins. */
export const pageOf = <Row>(
  found: readonly Row[],
  limit: number,
  idOf: (row: Row) => number,
): { readonly rows: Row[]; readonly next: { readonly next_cursor?: string } } => {
  const rows = found.slice(0, limit)
  const last = rows.at(-1)
  return {
    rows,
    next: found.length > limit && last !== undefined ? { next_cursor: String(idOf(last)) } : {},
  }
}
