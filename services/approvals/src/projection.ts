import { advanceKv, advanceVersion, type Bus, createKv } from '@guildhall/bus'
import {
  AgentRecord,
  agentKey,
  buckets,
  credentialKeyOfHash,
  type Endpoint,
  endpointKey,
  IdentityCredential,
  IdentityEndpoint,
} from '@guildhall/contracts'
import type { z } from 'zod'

/**
 * The bucket from which the gateway authenticates every call. PostgreSQL is the authority; entries
 * are written from outbox rows and by the reconciler, in any order and any number of times. So each
 * kind of entry has a direction in which alone it moves: an endpoint to a higher version, a
 * credential from live to revoked. What comes late changes nothing.
 */
export interface ProjectedEntry {
  readonly key: string
  readonly record: IdentityEndpoint | IdentityCredential
}

export interface Projection {
  /** True when the bucket changed. */
  apply(entry: ProjectedEntry): Promise<boolean>
  /** Likewise, for the bucket in which other services read agents. */
  applyAgent(agent: AgentRecord): Promise<boolean>
}

export const endpointEntry = (endpoint: Endpoint): ProjectedEntry => ({
  key: endpointKey(endpoint.endpoint_id),
  record: { v: 1, endpoint },
})

/** Credentials are stored by their hash alone, so the key is built from it and not from a token. */
export const credentialEntry = (sha256: string, record: IdentityCredential): ProjectedEntry => ({
  key: credentialKeyOfHash(sha256),
  record,
})

const newerEndpoint = (next: IdentityEndpoint, present: IdentityEndpoint): boolean =>
  next.endpoint.version > present.endpoint.version

const newlyRevoked = (next: IdentityCredential, present: IdentityCredential): boolean =>
  next.revoked && !present.revoked

export const createProjection = (bus: Bus): Projection => {
  const bucket = <T>(schema: z.ZodType<T>) => createKv(bus, buckets.identity, schema)
  const endpoints = bucket(IdentityEndpoint)
  const credentials = bucket(IdentityCredential)
  const agents = createKv(bus, buckets.agents, AgentRecord)
  return {
    apply: ({ key, record }) =>
      'endpoint' in record
        ? advanceKv(endpoints, key, record, newerEndpoint)
        : advanceKv(credentials, key, record, newlyRevoked),
    applyAgent: (agent) => advanceVersion(agents, agentKey(agent.user_id, agent.agent_id), agent),
  }
}
