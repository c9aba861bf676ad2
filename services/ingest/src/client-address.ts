import ipaddr from 'ipaddr.js'

/**
 * Who sent a request, as far as it can be known. `X-Forwarded-For` is written by anyone, so it is
 * believed only from the right, hop by hop, as long as each hop is a proxy that we trust.
 */

type Address = ipaddr.IPv4 | ipaddr.IPv6
export type Cidr = [Address, number]

/** Throws on what is no CIDR; a plain address counts as one host. */
export const parseCidr = (text: string): Cidr => {
  if (text.includes('/')) return ipaddr.parseCIDR(text)
  const address = ipaddr.process(text)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

const read = (text: string | undefined): Address | undefined =>
  text !== undefined && ipaddr.isValid(text) ? ipaddr.process(text) : undefined

const isWithin = (address: Address, cidrs: readonly Cidr[]): boolean =>
  cidrs.some(([range, bits]) => address.kind() === range.kind() && address.match(range, bits))

const HOPS_MAX = 32

export const clientAddress = (
  socket_address: string | undefined,
  forwarded_for: string | undefined,
  trusted: readonly Cidr[],
): string => {
  let client = read(socket_address)
  if (client === undefined) return 'unknown'
  const hops = (forwarded_for ?? '').split(',').slice(-HOPS_MAX)
  while (isWithin(client, trusted) && hops.length > 0) {
    const hop = read(hops.pop()?.trim())
    // Unreadable: whatever stands to its left cannot be believed either.
    if (hop === undefined) break
    client = hop
  }
  return client.toString()
}

const IPV6_SITE_BITS = 64

/** One sender holds a whole /64 of IPv6, so that is what is counted. */
export const rateKey = (address: string): string => {
  const parsed = read(address)
  if (parsed === undefined || parsed.kind() === 'ipv4') return address
  return ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/${IPV6_SITE_BITS}`).toString()
}
