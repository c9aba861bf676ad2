import type { CallContext, Handler } from '@guildhall/bus'
import { type listTodos, mayUseQueue, type oldestPending, ServiceError } from '@guildhall/contracts'
import { awaitProjection } from '../consumers/projection.ts'
import type { Tasks } from '../context.ts'
import { readCursor, writeCursor } from '../cursor.ts'
import { toRow } from '../rows.ts'
import * as store from '../store/todos.ts'

/** undefined: all queues of the owner. */
const visibleQueues = (
  ctx: CallContext,
  queue: string | undefined,
): readonly string[] | undefined => {
  if (queue !== undefined) {
    if (!mayUseQueue(ctx.principal, queue)) {
      throw new ServiceError('forbidden', `the queue ${queue} is not granted to this endpoint`)
    }
    return [queue]
  }
  return ctx.principal.kind === 'agent' ? ctx.principal.scope.queues : undefined
}

export const handleListTodos =
  (tasks: Tasks): Handler<typeof listTodos> =>
  async (ctx, input) => {
    const records = await store.listTodos(tasks.db, {
      owner_id: ctx.principal.user_id,
      queues: visibleQueues(ctx, input.queue),
      state: input.state,
      // One more than asked for tells whether there is a next page.
      limit: input.limit + 1,
      after: readCursor(input.cursor),
    })
    const todos = records.slice(0, input.limit).map(toRow)
    const last = todos.at(-1)
    if (records.length <= input.limit || last === undefined) return { todos }
    return { todos, next_cursor: writeCursor(last) }
  }

/** Beyond it a list that is a little behind is better than none. */
const CAUGHT_UP_WAIT_MS = 1_000

export const handleOldestPending =
  (tasks: Tasks): Handler<typeof oldestPending> =>
  async (ctx, input) => {
    // What was created a moment before the stream attached rang at nobody, so it must be in here.
    await awaitProjection(tasks.bus, CAUGHT_UP_WAIT_MS)
    const records = await store.listOldestPending(
      tasks.db,
      ctx.principal.user_id,
      visibleQueues(ctx, undefined),
      tasks.clock.now(),
      input.limit,
    )
    return { todos: records.map(toRow) }
  }
