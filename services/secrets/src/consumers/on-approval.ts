import { consume, decode, durables, type StreamMessage } from '@guildhall/bus'
import { approvalDecided, approvalRequested, streams } from '@guildhall/contracts'
import { firstTime, type Trx, transaction } from '@guildhall/db'
import type { Part } from '@guildhall/runtime'
import type { Deps } from '../deps.ts'
import { closeRequest, openRequest } from '../store/resource-requests.ts'

/** Requests for resources, so that an agent sees what it waits for beside what it has. */

const effectOf = (message: StreamMessage): ((trx: Trx) => Promise<void>) | undefined => {
  if (message.subject === approvalRequested.subject) {
    const event = decode(approvalRequested.schema, message.data)
    const named = event.kind === 'resource' && event.resource_name !== null
    return named ? (trx) => openRequest(trx, event) : undefined
  }
  if (message.subject === approvalDecided.subject) {
    const event = decode(approvalDecided.schema, message.data)
    // Approved and not yet supplied: the agent still waits. The secret itself closes it.
    const settled = event.kind === 'resource' && event.decision !== 'approved'
    return settled ? (trx) => closeRequest(trx, event) : undefined
  }
  return undefined
}

const MESSAGE_ID = 'Nats-Msg-Id'

export const onApproval = ({ bus, db, log }: Pick<Deps, 'bus' | 'db' | 'log'>): Part =>
  consume(bus, {
    stream: streams.events,
    durable: durables.secretsApprovals,
    log,
    max_in_flight: 32,
    handle: async (messages) => {
      for (const message of messages) {
        const effect = effectOf(message)
        if (effect === undefined) continue
        const event_id = message.headers[MESSAGE_ID] ?? `sequence-${message.stream_sequence}`
        await transaction(db, async (trx) => {
          if (await firstTime(trx, durables.secretsApprovals, event_id)) await effect(trx)
        })
      }
    },
  })
