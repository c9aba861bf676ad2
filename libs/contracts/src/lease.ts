import { z } from 'zod'
import {
  LEASE_DEFAULT_SECONDS,
  LEASE_ENDPOINT_DEFAULT_MIN_SECONDS,
  LEASE_MAX_SECONDS,
} from './limits.ts'
import { operation } from './operation.ts'

/** The default lease of an endpoint: how long a claim lasts that does not say. */

const DefaultLease = z.strictObject({
  default_lease_ttl_seconds: z.int().nullable(),
  effective_lease_ttl_seconds: z.int(),
  server_default_lease_ttl_seconds: z.literal(LEASE_DEFAULT_SECONDS),
  min_default_lease_ttl_seconds: z.literal(LEASE_ENDPOINT_DEFAULT_MIN_SECONDS),
  max_lease_ttl_seconds: z.literal(LEASE_MAX_SECONDS),
})
export type DefaultLease = z.infer<typeof DefaultLease>

export const describeDefaultLease = (endpoint_default: number | null): DefaultLease => ({
  default_lease_ttl_seconds: endpoint_default,
  effective_lease_ttl_seconds: endpoint_default ?? LEASE_DEFAULT_SECONDS,
  server_default_lease_ttl_seconds: LEASE_DEFAULT_SECONDS,
  min_default_lease_ttl_seconds: LEASE_ENDPOINT_DEFAULT_MIN_SECONDS,
  max_lease_ttl_seconds: LEASE_MAX_SECONDS,
})

/** Answered by the gateway itself, from the endpoint that authenticated the call. */
export const getDefaultLease = operation({
  service: 'mcp-gateway',
  name: 'get_default_lease',
  family: 'lease',
  access: 'read',
  tool: true,
  default_grant: true,
  summary: 'Show the lease that a claim gets when it names none, and its limits.',
  input: z.strictObject({}),
  output: DefaultLease,
  errors: [],
})

export const setDefaultLease = operation({
  service: 'approvals',
  name: 'set_default_lease',
  family: 'lease',
  access: 'write',
  tool: true,
  default_grant: true,
  summary: 'Set the lease that later claims of this endpoint get by default; null resets it.',
  input: z.strictObject({
    default_lease_ttl_seconds: z
      .int()
      .min(LEASE_ENDPOINT_DEFAULT_MIN_SECONDS)
      .max(LEASE_MAX_SECONDS)
      .nullable(),
  }),
  output: DefaultLease,
  errors: ['invalid_argument', 'not_found', 'conflict', 'idempotency_conflict', 'unavailable'],
})
