import t from 'tap'
import { isPublicAddress } from '../src/index.ts'

const PUBLIC = ['1.1.1.1', '8.8.8.8', '93.184.215.14', '2606:4700::1111', '2a00:1450:4001::8a']

const SPECIAL = [
  ['0.0.0.0', 'this host'],
  ['0.1.2.3', 'this network'],
  ['127.0.0.1', 'loopback'],
  ['127.255.255.254', 'loopback'],
  ['10.0.0.1', 'private'],
  ['172.16.0.1', 'private'],
  ['172.31.255.255', 'private'],
  ['192.168.1.1', 'private'],
  ['169.254.169.254', 'link-local: metadata of clouds'],
  ['100.64.0.1', 'carrier NAT'],
  ['100.127.255.255', 'carrier NAT'],
  ['192.0.0.8', 'protocol assignments'],
  ['192.0.2.1', 'documentation'],
  ['198.18.0.1', 'benchmarks'],
  ['224.0.0.1', 'multicast'],
  ['240.0.0.1', 'reserved'],
  ['255.255.255.255', 'broadcast'],
  ['::', 'unspecified'],
  ['::1', 'loopback'],
  ['::ffff:127.0.0.1', 'IPv4-mapped'],
  ['::ffff:10.1.2.3', 'IPv4-mapped'],
  ['::127.0.0.1', 'IPv4-compatible'],
  ['::a00:1', 'IPv4-compatible'],
  ['64:ff9b::7f00:1', 'NAT64'],
  ['64:ff9b:1::a00:1', 'local NAT64'],
  ['2002:7f00:1::', '6to4'],
  ['2001:0:7f00:1::', 'Teredo'],
  ['2001:db8::1', 'documentation'],
  ['fc00::1', 'unique local'],
  ['fd12::1', 'unique local'],
  ['fe80::1', 'link-local'],
  ['fe80::1%eth0', 'link-local with a zone'],
  ['fec0::1', 'site-local'],
  ['ff02::1', 'multicast'],
  ['4000::1', 'never handed out'],
  ['2130706433', 'decimal'],
  ['0x7f.1', 'hexadecimal'],
  ['0177.0.0.1', 'octal'],
  ['', 'nothing'],
  ['example.com', 'a name'],
] as const

t.test('an address of the public internet is told from every special one', async (t) => {
  for (const address of PUBLIC) t.ok(isPublicAddress(address), address)
  for (const [address, what] of SPECIAL) t.notOk(isPublicAddress(address), `${address}: ${what}`)
})
