import { LIST_LIMIT_DEFAULT, type Operation } from '@guildhall/contracts'
import { forward } from '../calls/forward.ts'
import { toolMembers } from '../protocol/result.ts'
import type { Arguments, ToolAnswer, ToolContext, ToolServices } from './tool-context.ts'

/**
 * A list that fills a model's window helps nobody: two workers once came back to a backlog, listed
 * it, and failed at every try after. A page that is too long is read again with a smaller limit, so
 * that it ends where its next_cursor says and no row is cut.
 */
const LIST_MAX_CHARS = 20_000

const TRIES_MAX = 3

/** Aims below the limit, since rows differ in length. */
const AIM = 0.9

export const isPagedList = (op: Operation): boolean => {
  const properties = (schema: unknown): object =>
    typeof schema === 'object' && schema !== null && 'shape' in schema
      ? (schema.shape as object) // zod's object schemas carry their fields here
      : {}
  return 'limit' in properties(op.input) && 'next_cursor' in properties(op.output)
}

const rowCount = (output: unknown): number =>
  Object.values(output as object).find(Array.isArray)?.length ?? 0 // parsed by the caller

export const callList = async (
  services: ToolServices,
  context: ToolContext,
  op: Operation,
  args: Arguments,
): Promise<ToolAnswer> => {
  let limit = typeof args.limit === 'number' ? args.limit : LIST_LIMIT_DEFAULT
  for (let tried = 1; ; tried += 1) {
    const output = await forward(services, context, op, { ...args, limit })
    const text = JSON.stringify(output)
    const rows = rowCount(output)
    if (text.length <= LIST_MAX_CHARS || rows <= 1 || tried >= TRIES_MAX) {
      return { members: toolMembers(text) }
    }
    const fitting = Math.floor((rows * LIST_MAX_CHARS * AIM) / text.length)
    limit = Math.max(1, Math.min(fitting, rows - 1))
  }
}
