import { clientAddress, isWithin, parseNetworks, RateLimiter } from '@guildhall/runtime'
import t from 'tap'
import { GatewayConfig } from '../src/config.ts'
import { BadJson, parseJsonBody } from '../src/http/json-body.ts'
import {
  createPerimeter,
  isHostAllowed,
  isOriginAllowed,
  repeatedHeader,
} from '../src/http/origin-host.ts'

t.test('the client is the nearest address that is not a trusted proxy', (t) => {
  const trusted = parseNetworks(['10.0.0.0/8', '::1'])
  const cases: readonly [string, string | undefined, string][] = [
    ['203.0.113.9', '1.1.1.1', '203.0.113.9'],
    ['10.1.2.3', undefined, '10.1.2.3'],
    ['10.1.2.3', '203.0.113.9', '203.0.113.9'],
    ['10.1.2.3', '6.6.6.6, 203.0.113.9', '203.0.113.9'],
    ['10.1.2.3', '203.0.113.9, 10.9.9.9', '203.0.113.9'],
    ['::ffff:10.1.2.3', '203.0.113.9', '203.0.113.9'],
    ['::1', '2001:db8::7', '2001:db8::7'],
    ['10.1.2.3', 'nonsense', '10.1.2.3'],
    ['10.1.2.3', '203.0.113.9, nonsense', '10.1.2.3'],
    ['10.1.2.3', '10.0.0.1, 10.0.0.2', '10.0.0.1'],
    ['10.1.2.3', '', '10.1.2.3'],
  ]
  for (const [peer, forwarded, expected] of cases) {
    t.equal(clientAddress(peer, forwarded, trusted), expected, `${peer} for ${forwarded}`)
  }
  t.equal(clientAddress('10.1.2.3', '1.1.1.1', []), '10.1.2.3')
  t.end()
})

t.test('an address is compared with networks of its own kind', (t) => {
  const networks = parseNetworks(['192.0.2.0/24', '2001:db8::/32', '198.51.100.7'])
  for (const inside of ['192.0.2.44', '::ffff:192.0.2.44', '2001:db8:1::1', '198.51.100.7']) {
    t.equal(isWithin(networks, inside), true, inside)
  }
  for (const outside of ['192.0.3.1', '2001:db9::1', '198.51.100.8', '', 'x', '1']) {
    t.equal(isWithin(networks, outside), false, outside)
  }
  t.end()
})

t.test('Host and Origin are checked against what is served', (t) => {
  const perimeter = createPerimeter({
    public_url: 'https://mcp.example/mcp',
    hosts: ['gateway.cluster.local:8080'],
    origins: ['https://app.example'],
  })
  const hosts: readonly [string | undefined, boolean][] = [
    ['localhost:8080', true],
    ['127.0.0.1', true],
    ['[::1]:8080', true],
    ['MCP.example', true],
    ['gateway.cluster.local:8080', true],
    ['gateway.cluster.local:9090', false],
    ['evil.example', false],
    ['mcp.example.evil.example', false],
    ['mcp.example@evil.example', false],
    ['', false],
    [undefined, false],
  ]
  for (const [host, allowed] of hosts) t.equal(isHostAllowed(perimeter, host), allowed, `${host}`)
  const origins: readonly [string | undefined, string, boolean][] = [
    [undefined, 'mcp.example', true],
    ['https://mcp.example', 'mcp.example', true],
    ['https://app.example', 'mcp.example', true],
    ['http://localhost:8080', 'localhost:8080', true],
    ['http://localhost:3000', 'localhost:8080', false],
    ['http://app.example', 'mcp.example', false],
    ['https://app.example.evil.example', 'mcp.example', false],
    ['null', 'mcp.example', false],
    ['', 'mcp.example', false],
  ]
  for (const [origin, host, allowed] of origins) {
    t.equal(isOriginAllowed(perimeter, origin, host), allowed, `${origin} at ${host}`)
  }
  t.end()
})

t.test('a steering header that comes twice is found', (t) => {
  t.equal(repeatedHeader(['Host', 'a', 'Authorization', 'b', 'X-A', '1', 'X-A', '2']), undefined)
  t.equal(repeatedHeader(['Authorization', 'a', 'AUTHORIZATION', 'b']), 'authorization')
  t.end()
})

t.test('a bucket gives its burst at once and then its rate', (t) => {
  const limiter = new RateLimiter()
  const limit = { per_second: 2, burst: 3 }
  const taken = [0, 0, 0, 0].map((now) => limiter.take('k', limit, now))
  t.strictSame(taken, [0, 0, 0, 1])
  t.equal(limiter.take('k', limit, 499), 1)
  t.equal(limiter.take('k', limit, 500), 0)
  t.equal(limiter.take('k', limit, 400), 1, 'a clock set back neither gives nor takes')
  t.equal(limiter.take('other', limit, 0, 3), 0)
  t.equal(limiter.take('other', limit, 0, 3), 2)
  t.equal(limiter.take('k', limit, 60_000, 3), 0, 'never more than the burst')
  t.equal(limiter.take('k', limit, 60_000), 1)
  t.end()
})

t.test('bodies that are no JSON we read are refused, whatever they are', (t) => {
  const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
  t.strictSame(parseJsonBody(Buffer.from('{"a":"[[\\"{{"}')), { a: '[["{{' })
  t.ok(parseJsonBody(Buffer.from(deep(128))))
  const bad: readonly (string | Uint8Array)[] = [
    '',
    '{',
    '{"a":}',
    "{'a':1}",
    '\ufeff{}',
    deep(129),
    '{"a":'.repeat(200_000),
    Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]),
    Buffer.from([0xc3]),
  ]
  for (const body of bad) t.throws(() => parseJsonBody(Buffer.from(body)), BadJson)
  const parsed = parseJsonBody(Buffer.from('{"__proto__":{"polluted":true}}'))
  t.strictSame(Object.getPrototypeOf(parsed), Object.prototype)
  t.equal(Reflect.get({}, 'polluted'), undefined)
  t.end()
})

t.test('the settings refuse networks and URLs that are none', (t) => {
  t.equal(GatewayConfig.safeParse({}).success, true)
  t.strictSame(GatewayConfig.parse({ TRUSTED_PROXIES: ' 10.0.0.0/8, ::1,' }).TRUSTED_PROXIES, [
    '10.0.0.0/8',
    '::1',
  ])
  for (const bad of [{ TRUSTED_PROXIES: '10.0.0.0/99' }, { PUBLIC_MCP_URL: 'mcp' }]) {
    t.equal(GatewayConfig.safeParse(bad).success, false)
  }
  t.end()
})
