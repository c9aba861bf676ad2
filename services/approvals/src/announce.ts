import { type Bus, publish } from '@guildhall/bus'
import {
  EndpointRevoked,
  IdentityCredential,
  IdentityEndpoint,
  subjects,
} from '@guildhall/contracts'
import { addToOutbox, type OutboxRow, type Trx } from '@guildhall/db'
import { z } from 'zod'
import type { ProjectedEntry, Projection } from './projection.ts'

/**
 * What a change tells the rest of the system: rows of the outbox, written in its transaction and
 * relayed after it. Two kinds: an entry of the identity bucket, and an event.
 */
const PROJECT = 'project.identity'

const ProjectedRecord = z.union([IdentityEndpoint, IdentityCredential])

/** Each entry as a row of its own, in the order given. */
export const announceEntries = async (
  trx: Trx,
  entries: readonly ProjectedEntry[],
): Promise<void> => {
  for (const { key, record } of entries) {
    await addToOutbox(trx, { subject: PROJECT, key, payload: record })
  }
}

export const announceRevocation = async (trx: Trx, event: EndpointRevoked): Promise<void> => {
  await addToOutbox(trx, {
    subject: subjects.event('approvals', 'endpoint', 'revoked'),
    key: event.endpoint_id,
    payload: EndpointRevoked.parse(event),
    // An endpoint is revoked once, so its id makes the event's.
    event_id: `endpoint-revoked-${event.endpoint_id}`,
  })
}

/** Brings one row of the outbox to where it belongs. A repeat is harmless. */
export const relayRow =
  (bus: Bus, projection: Projection) =>
  async ({ subject, key, payload, event_id }: OutboxRow): Promise<void> => {
    if (subject === PROJECT) {
      await projection.apply({ key, record: ProjectedRecord.parse(payload) })
      return
    }
    await publish(bus, subject, z.record(z.string(), z.unknown()).parse(payload), {
      msg_id: event_id,
    })
  }
