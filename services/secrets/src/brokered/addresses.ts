import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { ServiceError } from '@guildhall/contracts'
import { isPublicAddress, isWithin, type Network } from '@guildhall/runtime'
import { ADDRESSES_MAX } from '../limits.ts'

/**
 * Where a host name leads. It is asked once per request, every answer is checked, and the
 * connection then uses these very addresses: a name that answers differently a moment later, or
 * that mixes a public address with one of ours, gets nothing.
 */

export type Resolve = (host: string) => Promise<readonly LookupAddress[]>

const systemResolve: Resolve = (host) => lookup(host, { all: true })

/** For tests and demonstrations: names that no resolver knows. */
export const resolveFrom = (hosts: ReadonlyMap<string, readonly string[]>): Resolve =>
  hosts.size === 0
    ? systemResolve
    : async (host) => {
        const addresses = hosts.get(host)
        if (addresses === undefined) return await systemResolve(host)
        return addresses.map((address) => ({ address, family: isIP(address) }))
      }

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown'

export const checkedAddresses = async (
  resolve: Resolve,
  host: string,
  allowed: readonly Network[],
): Promise<readonly LookupAddress[]> => {
  const found = await resolve(host).catch((cause: unknown) => {
    throw new ServiceError('unavailable', `the host cannot be found (${codeOf(cause)})`)
  })
  if (found.length === 0 || found.length > ADDRESSES_MAX) {
    throw new ServiceError('unavailable', 'the host has no usable address')
  }
  const refused = found.some(
    ({ address }) => !isPublicAddress(address) && !isWithin(allowed, address),
  )
  if (refused) {
    throw new ServiceError('forbidden', 'the host has an address that is not on the internet')
  }
  return found
}
