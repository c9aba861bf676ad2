import { consume, decode, durables, type StreamMessage } from '@guildhall/bus'
import {
  ATTEMPTS_DEFAULT_MAX,
  DeliveryMeta,
  headers,
  streams,
  type WorkRecord,
} from '@guildhall/contracts'
import type { Part } from '@guildhall/runtime'
import type { Tasks } from '../context.ts'
import { ring } from '../doorbell.ts'
import { newItem } from '../new-item.ts'
import { isFinished } from '../work-item.ts'
import { enqueue } from '../work-messages.ts'

/**
 * Turns an accepted delivery into a todo. The id was derived by ingest from what the provider
 * signed; so a redelivery, of ours or of the provider's, finds the record and creates nothing.
 */

const CONCURRENCY = 32

const toItem = (meta: DeliveryMeta): WorkRecord =>
  newItem(
    {
      id: meta.todo_id,
      owner_id: meta.owner_id,
      queue: meta.queue,
      priority: 'normal',
      title: meta.title,
      source: meta.source_type,
      ...(meta.event_type === undefined ? {} : { kind: meta.event_type }),
      payload_size: meta.payload_size,
      content_type: meta.content_type,
      webhook_id: meta.webhook_id,
      max_attempts: ATTEMPTS_DEFAULT_MAX,
      ...(meta.body_ref === undefined ? {} : { body_ref: meta.body_ref }),
    },
    meta.received_at,
  )

export const acceptDelivery = async (tasks: Tasks, message: StreamMessage): Promise<void> => {
  const record = toItem(decode(DeliveryMeta, message.headers[headers.delivery]))
  const revision = await tasks.records.create(record)
  if (revision === undefined) {
    // Seen before. Only a try that died between record and message leaves something to do.
    const known = await tasks.records.loadFresh(record.owner_id, record.id)
    if (known === undefined || isFinished(known.value)) return
  }
  await enqueue(tasks, record, message.data)
  if (revision !== undefined) ring(tasks, record)
}

export const onDelivery = (tasks: Tasks): Part =>
  consume(tasks.bus, {
    stream: streams.deliveries,
    durable: durables.tasksDeliveries,
    log: tasks.log,
    max_in_flight: CONCURRENCY * 4,
    concurrency: CONCURRENCY,
    handle: async (messages) => {
      for (const message of messages) await acceptDelivery(tasks, message)
    },
  })
