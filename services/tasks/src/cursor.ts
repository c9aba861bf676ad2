import { ServiceError } from '@guildhall/contracts'
import { z } from 'zod'

/** Opaque to callers: where the page before ended. */
const Cursor = z.tuple([z.iso.datetime(), z.string().max(64)])

interface Position {
  readonly created_at: string
  readonly id: string
}

export const writeCursor = ({ created_at, id }: Position): string =>
  Buffer.from(JSON.stringify([created_at, id])).toString('base64url')

export const readCursor = (cursor: string | undefined): Position | undefined => {
  if (cursor === undefined) return undefined
  try {
    const [created_at, id] = Cursor.parse(
      JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')),
    )
    return { created_at, id }
  } catch (cause) {
    throw new ServiceError('invalid_argument', 'cursor: not one that this list returned', { cause })
  }
}

const IdCursor = z.tuple([z.int().positive()])

/** For lists that are ordered by an integer id alone. */
export const writeIdCursor = (id: number): string =>
  Buffer.from(JSON.stringify([id])).toString('base64url')

export const readIdCursor = (cursor: string | undefined): number | undefined => {
  if (cursor === undefined) return undefined
  try {
    return IdCursor.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')))[0]
  } catch (cause) {
    throw new ServiceError('invalid_argument', 'cursor: not one that this list returned', { cause })
  }
}
