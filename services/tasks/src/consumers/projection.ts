import { type Bus, consume, durables } from '@guildhall/bus'
import { buckets, ServiceError, WorkRecord } from '@guildhall/contracts'
import type { Part } from '@guildhall/runtime'
import { setTimeout as delay } from 'node:timers/promises'
import type { Tasks } from '../context.ts'
import { project, type Revision } from '../store/projection.ts'

/**
 * Follows the bucket's own stream: every transition of every item, in order. While PostgreSQL is
 * down nothing is lost, the projection only falls behind.
 */

const BATCH = 200

const OPERATION_HEADER = 'KV-Operation'

const parse = (data: Uint8Array): WorkRecord => {
  const parsed = WorkRecord.safeParse(JSON.parse(Buffer.from(data).toString('utf8')))
  if (parsed.success) return parsed.data
  throw new ServiceError('invalid_argument', 'not a work record of a known version', {
    cause: parsed.error,
  })
}

export const projection = (tasks: Pick<Tasks, 'bus' | 'db' | 'log'>): Part =>
  consume(tasks.bus, {
    stream: `KV_${buckets.work}`,
    durable: durables.tasksProjection,
    log: tasks.log,
    max_in_flight: BATCH * 2,
    batch: BATCH,
    handle: async (messages) => {
      const revisions: Revision[] = []
      for (const message of messages) {
        if (OPERATION_HEADER in message.headers) continue
        revisions.push({ record: parse(message.data), revision: message.stream_sequence })
      }
      if (revisions.length > 0) await project(tasks.db, revisions)
    },
  })

const CAUGHT_UP_POLL_MS = 25

/** Waits until all that happened before this call is projected; false when that takes too long. */
export const awaitProjection = async (bus: Bus, timeout_ms: number): Promise<boolean> => {
  const stream = `KV_${buckets.work}`
  const goal = (await bus.jsm.streams.info(stream)).state.last_seq
  const until = Date.now() + timeout_ms
  for (;;) {
    const info = await bus.jsm.consumers.info(stream, durables.tasksProjection)
    const settled = info.num_ack_pending === 0 && info.num_pending === 0
    if (settled || info.ack_floor.stream_seq >= goal) return true
    if (Date.now() >= until) return false
    await delay(CAUGHT_UP_POLL_MS)
  }
}
