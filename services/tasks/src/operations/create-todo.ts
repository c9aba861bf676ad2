import { randomUUID } from 'node:crypto'
import type { Handler } from '@guildhall/bus'
import {
  CREATE_PAYLOAD_MAX_BYTES,
  type createTodo,
  deriveTodoId,
  holderName,
  type InputOf,
  mayUseQueue,
  ServiceError,
  UNSENT_AFTER_MS,
  type WorkRecord,
} from '@guildhall/contracts'
import type { Tasks } from '../context.ts'
import { ring } from '../doorbell.ts'
import { hashOf } from '../lease-token.ts'
import { newItem } from '../new-item.ts'
import { toRow } from '../rows.ts'
import { isFinished, keepFence } from '../work-item.ts'
import { enqueue, isEnqueued } from '../work-messages.ts'

/** The id follows from the caller's key, so that a repeat finds what the first try made. */
export const handleCreateTodo =
  (tasks: Tasks): Handler<typeof createTodo> =>
  async (ctx, input) => {
    const { principal } = ctx
    if (!mayUseQueue(principal, input.queue)) {
      throw new ServiceError(
        'forbidden',
        `the queue ${input.queue} is not granted to this endpoint`,
      )
    }
    const data = encodePayload(input.payload)
    const key = input.idempotency_key ?? ctx.idempotency_key ?? randomUUID()
    const now = tasks.clock.now()
    const record = newItem(
      {
        id: deriveTodoId(['create_todo', String(principal.user_id), holderName(principal), key]),
        owner_id: principal.user_id,
        queue: input.queue,
        priority: input.priority,
        title: input.title,
        source: holderName(principal),
        kind: 'handoff',
        payload_size: data.length,
        content_type: 'application/json',
        max_attempts: input.max_attempts,
        create_hash: hashOf(JSON.stringify(withoutKey(input))),
        ...(input.not_before === undefined ? {} : { not_before: Date.parse(input.not_before) }),
      },
      now,
    )
    const revision = await tasks.records.create(record)
    if (revision === undefined) return await repeated(tasks, record, data)
    await send(tasks, record, revision, data)
    if (record.claimable_at <= now) ring(tasks, record)
    return { ...toRow(record), created: true }
  }

const encodePayload = (payload: unknown): Buffer => {
  const data = payload === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(payload))
  if (data.length <= CREATE_PAYLOAD_MAX_BYTES) return data
  throw new ServiceError(
    'payload_too_large',
    `payload: at most ${CREATE_PAYLOAD_MAX_BYTES} bytes of JSON`,
  )
}

const withoutKey = (input: InputOf<typeof createTodo>) => ({ ...input, idempotency_key: undefined })

/** Far below UNSENT_AFTER_MS, at which the sweep may take an unsent todo back. */
const SENT_SOON_MS = UNSENT_AFTER_MS / 3

/** The message after its record. */
const send = async (
  tasks: Tasks,
  record: WorkRecord,
  revision: number,
  data: Buffer,
): Promise<void> => {
  await enqueue(tasks, record, data)
  const now = tasks.clock.now()
  if (now - record.updated_at <= SENT_SOON_MS) return
  // The sweep may be about to take the todo back, or has: either this write stops it, or the record
  // was written by somebody else, or it is gone and made again.
  const again = { ...record, updated_at: now }
  if ((await tasks.records.replace(again, revision)) === undefined) {
    await tasks.records.create(again)
  }
}

const repeated = async (tasks: Tasks, wanted: WorkRecord, data: Buffer) => {
  const entry = await tasks.records.loadFresh(wanted.owner_id, wanted.id)
  if (entry === undefined) throw tryAgain()
  const record = entry.value
  if (record.create_hash !== wanted.create_hash) {
    throw new ServiceError('idempotency_conflict', 'this key created another todo')
  }
  // The first try may have died between record and message.
  if (!isFinished(record) && !(await isEnqueued(tasks, record))) {
    const again = keepFence({ ...record, updated_at: tasks.clock.now() }, entry.revision)
    const revision = await tasks.records.replace(again, entry.revision)
    if (revision === undefined) throw tryAgain()
    await send(tasks, again, revision, data)
  }
  return { ...toRow(record), created: false }
}

const tryAgain = () => new ServiceError('unavailable', 'this todo changes right now; try again')
