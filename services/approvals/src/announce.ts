import { type Bus, publish } from '@guildhall/bus'
import {
  type AgentChanged,
  AgentRecord,
  agentChanged,
  agentKey,
  EndpointRevoked,
  IdentityCredential,
  IdentityEndpoint,
  subjects,
} from '@guildhall/contracts'
import { addToOutbox, type OutboxRow, type Trx } from '@guildhall/db'
import { z } from 'zod'
import type { ProjectedEntry, Projection } from './projection.ts'
import { agentRecord, type StoredAgent } from './store/agents.ts'

/**
 * What a change tells the rest of the system: rows of the outbox, written in its transaction and
 * relayed after it. Two kinds: an entry of a bucket, and an event.
 */
const PROJECT = 'project.identity'
const PROJECT_AGENT = 'project.agents'

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

/**
 * An event of this service, validated before it is written: nothing unreadable gets on its way.
 * Events of one key are told in the order in which they were written.
 */
export const announceEvent = async <S extends z.ZodType>(
  trx: Trx,
  { subject, schema }: { readonly subject: string; readonly schema: S },
  key: string,
  payload: z.input<S>,
): Promise<void> => {
  await addToOutbox(trx, {
    subject,
    key,
    payload: z.record(z.string(), z.unknown()).parse(schema.parse(payload)),
  })
}

/** The agent as other services shall see it, without telling what happened to it. */
export const announceAgentEntry = async (trx: Trx, agent: StoredAgent): Promise<void> => {
  await addToOutbox(trx, {
    subject: PROJECT_AGENT,
    key: agentKey(agent.user_id, agent.agent_id),
    payload: agentRecord(agent),
  })
}

export const announceAgent = async (
  trx: Trx,
  agent: StoredAgent,
  { change, seed, at }: Pick<AgentChanged, 'change' | 'seed'> & { readonly at: Date },
): Promise<void> => {
  const { user_id, agent_id } = agent
  await announceAgentEntry(trx, agent)
  await announceEvent(trx, agentChanged, agentKey(user_id, agent_id), {
    v: 1,
    user_id,
    agent: agentRecord(agent),
    change,
    seed,
    at: at.getTime(),
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
    if (subject === PROJECT_AGENT) {
      await projection.applyAgent(AgentRecord.parse(payload))
      return
    }
    await publish(bus, subject, z.record(z.string(), z.unknown()).parse(payload), {
      msg_id: event_id,
    })
  }
