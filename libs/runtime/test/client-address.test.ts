import t from 'tap'
import { clientAddress, parseNetwork, RateLimiter, senderOf } from '../src/index.ts'

t.test('X-Forwarded-For is believed only from trusted proxies, from the right', async (t) => {
  const trusted = ['10.0.0.0/8', '127.0.0.1', 'fd00::/8'].map(parseNetwork)
  const rows: [string | undefined, string | undefined, string][] = [
    ['203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['127.0.0.1', undefined, '127.0.0.1'],
    ['127.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['::ffff:127.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['127.0.0.1', '6.6.6.6, 198.51.100.1, 10.1.2.3', '198.51.100.1'],
    ['127.0.0.1', '6.6.6.6, garbage, 10.1.2.3', '10.1.2.3'],
    ['127.0.0.1', '10.9.9.9', '10.9.9.9'],
    ['fd00::1', '2001:db8::7', '2001:db8::7'],
    [undefined, '198.51.100.1', 'unknown'],
  ]
  for (const [socket, forwarded, expected] of rows) {
    t.equal(clientAddress(socket, forwarded, trusted), expected, `${socket} ${forwarded}`)
  }
  t.equal(senderOf('2001:db8:1:2:3:4:5:6'), senderOf('2001:db8:1:2:9::'))
  t.not(senderOf('2001:db8:1:2::'), senderOf('2001:db8:1:3::'))
  t.not(senderOf('198.51.100.1'), senderOf('198.51.100.2'))
})

t.test('a bucket lets its burst through, then its rate, and tells how long to wait', async (t) => {
  const limiter = new RateLimiter()
  const limit = { per_second: 2, burst: 3 }
  t.strictSame(
    [1, 2, 3, 4].map(() => limiter.take('a', limit, 0)),
    [0, 0, 0, 1],
  )
  t.equal(limiter.take('b', limit, 0), 0, 'another key has its own')
  t.strictSame([limiter.take('a', limit, 500), limiter.take('a', limit, 500)], [0, 1])
})
