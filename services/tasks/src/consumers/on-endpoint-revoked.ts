import { consume, decode, durables } from '@guildhall/bus'
import { EndpointRevoked, ServiceError, streams, taskItemId } from '@guildhall/contracts'
import type { Part } from '@guildhall/runtime'
import type { Tasks } from '../context.ts'
import { closeRevoked } from '../lapse.ts'
import { listTaskClaimsOfEndpoint } from '../store/task-items.ts'
import { listClaimsOfEndpoint } from '../store/todos.ts'
import { awaitProjection } from './projection.ts'

/** Ends the claims of a revoked endpoint: its work goes back to the queue at once. */

const PAGE = 500
const PROJECTION_WAIT_MS = 10_000

const claimsOf = async (tasks: Tasks, { user_id, endpoint_id }: EndpointRevoked) => {
  const todos = await listClaimsOfEndpoint(tasks.db, user_id, endpoint_id, PAGE)
  const held = await listTaskClaimsOfEndpoint(tasks.db, user_id, endpoint_id, PAGE)
  return [...todos, ...held.map((task) => ({ owner_id: user_id, id: taskItemId(task.task_id) }))]
}

const endClaims = async (tasks: Tasks, event: EndpointRevoked): Promise<void> => {
  for (;;) {
    const items = await claimsOf(tasks, event)
    let closed = 0
    for (const { owner_id, id } of items) {
      const entry = await tasks.records.loadFresh(owner_id, id)
      if (entry?.value.holder_endpoint_id !== event.endpoint_id) continue
      if (await closeRevoked(tasks, entry.value, entry.revision)) closed += 1
    }
    if (closed === 0) return
    await awaitProjection(tasks.bus, PROJECTION_WAIT_MS)
  }
}

export const onEndpointRevoked = (tasks: Tasks): Part =>
  consume(tasks.bus, {
    stream: streams.events,
    durable: durables.tasksEndpointRevoked,
    log: tasks.log,
    max_in_flight: 8,
    handle: async (messages) => {
      for (const message of messages) {
        const event = decode(EndpointRevoked, message.data)
        // A claim made just before the revocation must be in the list.
        if (!(await awaitProjection(tasks.bus, PROJECTION_WAIT_MS))) {
          throw new ServiceError('unavailable', 'the projection is behind')
        }
        await endClaims(tasks, event)
      }
    },
  })
