import { setTimeout as delay } from 'node:timers/promises'
import { type Bus, consume, decode, durables } from '@guildhall/bus'
import { buckets, WorkRecord } from '@guildhall/contracts'
import type { Part } from '@guildhall/runtime'
import type { Tasks } from '../context.ts'
import { type Payload, project, type Revision } from '../store/projection.ts'
import { followTasks } from '../task-effects.ts'
import { isTask } from '../task-item.ts'
import { readBody } from '../work-messages.ts'

/**
 * Follows the bucket's own stream: every transition of every item, in order. While PostgreSQL is
 * down nothing is lost, the projection only falls behind.
 */

const BATCH = 200
/** A commit costs about as much for one revision as for fifty. */
const LINGER_MS = 50

const OPERATION_HEADER = 'KV-Operation'

/** The message follows its record by one write; a creator that died in between never sends it. */
const readBodyInTime = async (
  tasks: Pick<Tasks, 'bus' | 'bodies'>,
  record: WorkRecord,
): Promise<Uint8Array | undefined> => {
  for (let tried = 1; ; tried += 1) {
    const body = await readBody(tasks, record)
    if (body !== undefined || tried === BODY_TRIES) return body
    await delay(BODY_RETRY_MS)
  }
}

const BODY_TRIES = 10
const BODY_RETRY_MS = 20

interface Bodies {
  readonly payloads: readonly Payload[]
  readonly unsent: ReadonlySet<string>
}

/**
 * What create_todo was given lies only in its message; a copy lets the stream be rebuilt. Where there
 * is no message the sweep has to look again. Deliveries need neither: their stream keeps them, and
 * hands them out until they are sent.
 */
const bodiesOf = async (
  tasks: Pick<Tasks, 'bus' | 'bodies'>,
  revisions: readonly Revision[],
): Promise<Bodies> => {
  const created = revisions.filter(
    ({ record }) =>
      record.webhook_id === undefined && record.state === 'pending' && record.attempts_total === 0,
  )
  const found = await Promise.all(
    created.map(async ({ record }) => ({
      record,
      body: await readBodyInTime(tasks, record),
    })),
  )
  return {
    payloads: found.flatMap(({ record, body }) =>
      body === undefined || record.payload_size === 0 ? [] : [{ todo_id: record.id, body }],
    ),
    unsent: new Set(found.flatMap(({ record, body }) => (body === undefined ? [record.id] : []))),
  }
}

/** Todos go to their table; of tasks, whatever has not been carried out at once is so now. */
const follow = async (tasks: Tasks, revisions: readonly Revision[]): Promise<void> => {
  const todos = revisions.filter(({ record }) => !isTask(record))
  if (todos.length > 0) {
    const { payloads, unsent } = await bodiesOf(tasks, todos)
    await project(tasks.db, todos, payloads, unsent)
  }
  await followTasks(
    tasks,
    revisions.flatMap(({ record, revision }) => (isTask(record) ? [{ record, revision }] : [])),
  )
}

export const projection = (tasks: Tasks): Part =>
  consume(tasks.bus, {
    stream: `KV_${buckets.work}`,
    durable: durables.tasksProjection,
    log: tasks.log,
    max_in_flight: BATCH * 2,
    batch: BATCH,
    linger_ms: LINGER_MS,
    handle: async (messages) => {
      const revisions: Revision[] = []
      for (const message of messages) {
        if (OPERATION_HEADER in message.headers) continue
        revisions.push({
          record: decode(WorkRecord, message.data),
          revision: message.stream_sequence,
        })
      }
      await follow(tasks, revisions)
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
