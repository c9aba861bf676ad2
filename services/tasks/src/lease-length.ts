import {
  LEASE_DEFAULT_SECONDS,
  LEASE_HUMAN_SECONDS,
  LEASE_MAX_SECONDS,
  type Principal,
  ServiceError,
} from '@guildhall/contracts'

/**
 * The one rule for how long a lease is: what the call says (up to the maximum; zero or less means
 * that it says nothing), else what the endpoint is set to, else the server's default.
 */
export const leaseMs = (principal: Principal, lease_ttl_seconds: number | undefined): number => {
  if (lease_ttl_seconds !== undefined && lease_ttl_seconds > 0) {
    return Math.min(lease_ttl_seconds, LEASE_MAX_SECONDS) * 1_000
  }
  if (principal.kind === 'human') return LEASE_HUMAN_SECONDS * 1_000
  const endpoint_default: unknown = principal.scope.default_lease_ttl_seconds
  if (endpoint_default === null) return LEASE_DEFAULT_SECONDS * 1_000
  if (typeof endpoint_default === 'number') return endpoint_default * 1_000
  throw new ServiceError('internal', "the endpoint's default lease could not be read")
}
