import type { WorkRecord } from '@guildhall/contracts'
import type { Tasks } from './context.ts'
import { ring } from './doorbell.ts'
import { readStoredPayload } from './store/todos.ts'
import { isFinished } from './work-item.ts'
import { enqueue, isEnqueued, readBody, readDelivery } from './work-messages.ts'

/** Undefined: the payload is nowhere. */
const findPayload = async (tasks: Tasks, record: WorkRecord): Promise<Uint8Array | undefined> => {
  if (record.payload_size === 0 || record.body_ref !== undefined) return new Uint8Array()
  return (
    (await readDelivery(tasks, record)) ??
    (await readStoredPayload(tasks.db, record.id)) ??
    (await readBody(tasks, record))
  )
}

/** Puts the message of an unfinished item back where claim_next finds it. */
export const restoreMessage = async (
  tasks: Tasks,
  record: WorkRecord,
): Promise<'nothing to do' | 'restored' | 'no payload'> => {
  if (isFinished(record) || (await isEnqueued(tasks, record))) return 'nothing to do'
  const payload = await findPayload(tasks, record)
  if (payload === undefined) return 'no payload'
  await enqueue(tasks, record, payload)
  if (record.state === 'pending' && record.claimable_at <= tasks.clock.now()) ring(tasks, record)
  return 'restored'
}
