import { z } from 'zod'
import { AgentId } from './ids.ts'
import { operation } from './operation.ts'
import { Timestamp } from './todo.ts'

/** Evidence, scores and quarantine. Owned by the reputation service. */

export const EvidenceKind = z.enum([
  'seed',
  'verified_auto',
  'verified_peer',
  'verified_command',
  'rejected',
  'timed_out',
  'lapsed',
])
export type EvidenceKind = z.infer<typeof EvidenceKind>

/** What an outcome is worth, from 0 to 1. A seed states the prior and is no outcome. */
export const evidenceOutcomes = {
  verified_auto: 0.7,
  verified_peer: 1,
  verified_command: 1,
  rejected: 0,
  timed_out: 0,
  lapsed: 0.2,
} as const satisfies Record<Exclude<EvidenceKind, 'seed'>, number>

export const DEFAULT_DOMAIN = 'default'

/** The first segment of a billing code. */
export const domainOf = (billing_code: string | null | undefined): string =>
  billing_code?.split(/[./-]/, 1)[0] || DEFAULT_DOMAIN

const Domain = z
  .string()
  .min(1)
  .max(100)
  .regex(/^[A-Za-z0-9_]+$/)

const DomainScore = z.strictObject({
  domain: z.string(),
  rolling_score: z.number().min(0).max(1),
  evidence_count: z.int().min(0).describe('Rows of evidence, a seed included'),
  evidence_weight: z.number().min(0).describe('Decayed'),
  last_evidence_at: Timestamp.nullable(),
})

export const getReputation = operation({
  service: 'reputation',
  name: 'get_reputation',
  family: 'reputation',
  access: 'read',
  tool: true,
  summary: 'Show how far an agent of your owner is to be trusted, by domain.',
  input: z.strictObject({ agent_id: AgentId, domain: Domain.default(DEFAULT_DOMAIN) }),
  output: z.strictObject({
    agent_id: AgentId,
    config_hash: z.string(),
    domain: z.string(),
    rolling_score: z.number().min(0).max(1),
    evidence_count: z.int().min(0),
    last_evidence_at: Timestamp.nullable(),
    domains: z.array(DomainScore),
    quarantined: z.boolean(),
  }),
  errors: ['invalid_argument', 'not_found', 'unavailable'],
  http: { method: 'GET', path: '/api/agents/{agent_id}/reputation' },
})

export const unquarantineAgent = operation({
  service: 'reputation',
  name: 'unquarantine_agent',
  family: 'reputation',
  access: 'write',
  tool: true,
  human_only: true,
  summary: 'Lift quarantine on an agent. Reputation is unchanged.',
  input: z.strictObject({ agent_id: AgentId }),
  output: z.strictObject({ agent_id: AgentId, status: z.literal('active') }),
  errors: ['invalid_argument', 'not_found', 'unavailable'],
  http: { method: 'POST', path: '/api/agents/{agent_id}/unquarantine' },
})
