import ipaddr from 'ipaddr.js'

const GLOBAL_UNICAST = ipaddr.IPv6.parse('2000::')
const GLOBAL_UNICAST_BITS = 3

/**
 * Whether an address lies on the public internet, the only place where a call may go whose target
 * somebody else chose. An address that embeds another (mapped, translated, tunnelled) or has any special
 * meaning is none. IPv6 must lie in 2000::/3, the only block that is handed out at all, so that
 * what a list of special ranges forgets (::/96, translation prefixes) is refused too.
 */
export const isPublicAddress = (text: string): boolean => {
  if (!ipaddr.isValid(text)) return false
  const address = ipaddr.process(text)
  if (address.range() !== 'unicast') return false
  return address.kind() === 'ipv4' || address.match(GLOBAL_UNICAST, GLOBAL_UNICAST_BITS)
}
