import ipaddr from 'ipaddr.js'

/** Where a request comes from, and whether an address lies in a list of networks. */

type Address = ipaddr.IPv4 | ipaddr.IPv6
export type Network = readonly [Address, number]

/** ::ffff:10.0.0.1 is 10.0.0.1: a dual-stack socket must not slip past an IPv4 rule. */
const parseAddress = (text: string): Address | undefined => {
  try {
    return ipaddr.process(text.trim())
  } catch {
    return undefined
  }
}

/** `10.0.0.0/8`, or a single address. Throws on anything else. */
export const parseNetwork = (text: string): Network => {
  if (text.includes('/')) return ipaddr.parseCIDR(text)
  const address = ipaddr.process(text)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

export const parseNetworks = (texts: readonly string[]): readonly Network[] =>
  texts.map(parseNetwork)

const contains = ([network, bits]: Network, address: Address): boolean => {
  if (network.kind() !== address.kind()) return false
  return address.match(network, bits)
}

export const isWithin = (networks: readonly Network[], text: string): boolean => {
  const address = parseAddress(text)
  return address !== undefined && networks.some((network) => contains(network, address))
}

/** A chain of proxies is short; a long header is somebody's game. */
const HOPS_MAX = 32

/**
 * The nearest address that is not a trusted proxy. X-Forwarded-For is read from its right end,
 * where our own proxies write; what stands further left is the client's claim and counts only
 * through an unbroken chain of proxies that we trust.
 */
export const clientAddress = (
  peer: string | undefined,
  forwarded_for: string | undefined,
  trusted: readonly Network[],
): string => {
  let address = parseAddress(peer ?? '')?.toString() ?? 'unknown'
  if (trusted.length === 0 || forwarded_for === undefined) return address
  const hops = forwarded_for.split(',').slice(-HOPS_MAX)
  while (hops.length > 0 && isWithin(trusted, address)) {
    const hop = parseAddress(hops.pop() ?? '')
    if (hop === undefined) break
    address = hop.toString()
  }
  return address
}

const IPV6_SITE_BITS = 64

/** What counts as one sender: an IPv4 address, or the /64 that whoever has one IPv6 address has. */
export const senderOf = (address: string): string => {
  const parsed = parseAddress(address)
  if (parsed === undefined || parsed.kind() === 'ipv4') return parsed?.toString() ?? address
  return ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/${IPV6_SITE_BITS}`).toString()
}
