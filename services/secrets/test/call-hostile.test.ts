import { gzipSync } from 'node:zlib'
import { callWithSecret, revokeSecret } from '@guildhall/contracts'
import t, { type Test } from 'tap'
import type { Resolve } from '../src/brokered/addresses.ts'
import { refusal, setup } from './setup.ts'
import { HOST, OTHER_HOST, startTlsHost, UNCERTIFIED_HOST } from './tls-host.ts'

const VALUE = 'correct-horse-battery'

interface Options {
  readonly hosts?: string[]
  readonly env?: Readonly<Record<string, string>>
  readonly resolve?: Resolve
}

const started = async (t: Test, { hosts = [HOST], env = {}, resolve }: Options = {}) => {
  const host = await startTlsHost(t)
  const s = await setup(t, {
    env: { ...host.env, ...env },
    ...(resolve === undefined ? {} : { resolve }),
  })
  const agent = await s.agent(s.owner, 42)
  await s.set('agent', 42, 'TOKEN', VALUE, hosts)
  const callHost = (more = {}) =>
    s.call(
      callWithSecret,
      {
        secret: 'TOKEN',
        method: 'GET',
        url: host.url('/v1'),
        headers: { authorization: '{{TOKEN}}' },
        ...more,
      },
      agent,
    )
  return { ...s, host, callHost }
}

t.test('a host that the owner did not list gets nothing', async (t) => {
  const s = await started(t)
  const urls = [
    s.host.url('/', OTHER_HOST),
    s.host.url('/', 'a.wild.example.test'),
    `https://127.0.0.1:${s.host.port}/`,
    `https://2130706433:${s.host.port}/`,
    `https://0177.0.0.1:${s.host.port}/`,
    `https://[::1]:${s.host.port}/`,
    `https://${HOST}.:${s.host.port}/`,
    `https://аpi.example.test:${s.host.port}/`,
    'https://169.254.169.254/latest/meta-data',
  ]
  for (const url of urls) t.match(await refusal(s.callHost({ url })), { code: 'forbidden' }, url)
  t.strictSame(s.host.seen, [])
})

t.test('an address that is not on the internet gets nothing, whatever the name', async (t) => {
  const answers: string[][] = [
    ['127.0.0.1'],
    ['10.0.0.1'],
    ['169.254.169.254'],
    ['100.64.1.1'],
    ['0.0.0.0'],
    ['::1'],
    ['::ffff:127.0.0.1'],
    ['64:ff9b::7f00:1'],
    ['fd00::1'],
    ['fe80::1'],
    ['93.184.215.14', '127.0.0.1'],
    ['127.0.0.1', '93.184.215.14'],
  ]
  let asked: string[] = []
  const s = await started(t, {
    env: { SECRETS_ALLOWED_ADDRESSES: '' },
    resolve: async () =>
      asked.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
  })
  for (const addresses of answers) {
    asked = addresses
    t.match(
      await refusal(s.callHost()),
      { code: 'forbidden', message: /not on the internet/ },
      addresses.join(' and '),
    )
  }
  asked = []
  t.match(await refusal(s.callHost()), { code: 'unavailable' }, 'no address at all')
  t.strictSame(s.host.seen, [])
})

t.test('the address that was checked is the one that is used', async (t) => {
  let asked = 0
  // A name that is ours to call when it is checked, and somebody else's at the next look.
  const s = await started(t, {
    resolve: async () => {
      asked += 1
      return [{ address: asked === 1 ? '127.0.0.1' : '169.254.169.254', family: 4 }]
    },
  })
  t.equal((await s.callHost()).body, 'ok')
  t.equal(asked, 1, 'the name is asked for once')
  t.match(await refusal(s.callHost()), { code: 'forbidden' })
})

t.test('a name that nobody knows, and a port where nobody listens, are unavailable', async (t) => {
  const s = await started(t, {
    resolve: async () => {
      throw Object.assign(new Error(`getaddrinfo ${VALUE}`), { code: 'ENOTFOUND' })
    },
  })
  t.match(await refusal(s.callHost()), {
    code: 'unavailable',
    message: 'the host cannot be found (ENOTFOUND)',
  })
  t.notMatch(s.log_lines.join('\n'), VALUE)
})

t.test('a resolver that does not answer is not waited for', async (t) => {
  const s = await started(t, {
    env: { SECRETS_CALL_TIMEOUT_MS: '200' },
    resolve: () => new Promise(() => undefined),
  })
  t.match(await refusal(s.callHost()), { code: 'unavailable' })
})

t.test('a certificate must be for the name', async (t) => {
  const s = await started(t, { hosts: [HOST, UNCERTIFIED_HOST] })
  t.match(await refusal(s.callHost({ url: s.host.url('/', UNCERTIFIED_HOST) })), {
    code: 'unavailable',
    message: /ERR_TLS_CERT_ALTNAME_INVALID/,
  })
  t.strictSame(s.host.seen, [])
})

t.test('an authority that nobody named is not trusted', async (t) => {
  const s = await started(t, { env: { SECRETS_EXTRA_CA: '' } })
  t.match(await refusal(s.callHost()), { code: 'unavailable', message: /cannot be reached/ })
  t.strictSame(s.host.seen, [])
})

t.test('a redirect is followed to listed hosts only, with everything checked again', async (t) => {
  const s = await started(t, { hosts: [HOST, OTHER_HOST, UNCERTIFIED_HOST] })
  s.host.answer(({ url, headers }, response) => {
    const target = new URLSearchParams(url.split('?')[1]).get('to')
    if (target === null) {
      response.end(`at ${headers.host} with ${headers.authorization}`)
      return
    }
    response.statusCode = 307
    response.setHeader('location', target)
    response.end(`off to ${target}, ${headers.authorization}`)
  })
  const via = (to: string) => s.callHost({ url: s.host.url(`/r?to=${encodeURIComponent(to)}`) })
  const followed = await via(s.host.url('/end', OTHER_HOST))
  t.match(followed, { status: 200, body: `at ${OTHER_HOST}:${s.host.port} with [secret TOKEN]` })
  t.equal((await via('/end')).status, 200)
  const seen = s.host.seen.length
  const stopped = [
    'https://169.254.169.254/latest/meta-data',
    s.host.url('/', 'a.wild.example.test'),
    `http://${HOST}:${s.host.port}/`,
    `https://${HOST}:1/`,
    `https://user@${HOST}:${s.host.port}/`,
    `https://evil.test/?leak=${VALUE}`,
  ]
  for (const to of stopped) {
    const answer = await via(to)
    t.equal(answer.status, 307, to)
    t.notMatch(JSON.stringify(answer), VALUE)
  }
  t.equal(s.host.seen.length, seen + stopped.length, 'each was asked once and not followed')
})

t.test('a redirect to an address that is not on the internet ends there', async (t) => {
  const s = await started(t, {
    hosts: [HOST, OTHER_HOST],
    resolve: async (host) => [
      { address: host === HOST ? '127.0.0.1' : '169.254.169.254', family: 4 },
    ],
  })
  s.host.answer((_request, response) => {
    response.writeHead(302, { location: s.host.url('/', OTHER_HOST) })
    response.end()
  })
  t.equal((await s.callHost()).status, 302)
  t.equal(s.host.seen.length, 1)
})

t.test(
  'redirects in a circle end after some, and one ends when the secret is revoked',
  async (t) => {
    const s = await started(t)
    s.host.answer((_request, response) => {
      response.writeHead(302, { location: '/again' })
      response.end()
    })
    t.equal((await s.callHost()).status, 302)
    t.equal(s.host.seen.length, 6)
    s.host.answer(async (_request, response) => {
      await s.call(revokeSecret, { scope_type: 'agent', scope_id: 42, name: 'TOKEN' }, s.owner)
      response.writeHead(302, { location: '/again' })
      response.end()
    })
    t.equal((await s.callHost()).status, 302)
    t.equal(s.host.seen.length, 7, 'it was not sent again')
  },
)

t.test('a secret that is revoked while its host is looked up is not sent', async (t) => {
  let revoke = async (): Promise<void> => undefined
  const s = await started(t, {
    resolve: async () => {
      await revoke()
      return [{ address: '127.0.0.1', family: 4 }]
    },
  })
  revoke = async () => {
    await s.call(revokeSecret, { scope_type: 'agent', scope_id: 42, name: 'TOKEN' }, s.owner)
  }
  t.match(await refusal(s.callHost()), { code: 'not_found' })
  t.strictSame(s.host.seen, [])
})

t.test('a host that answers a byte at a time is left in time', async (t) => {
  const s = await started(t, { env: { SECRETS_CALL_TIMEOUT_MS: '2000' } })
  s.host.answer((_request, response) => {
    const drip = setInterval(() => response.write(VALUE.charAt(0)), 50)
    response.on('close', () => clearInterval(drip))
  })
  const before = performance.now()
  t.match(await refusal(s.callHost()), { code: 'deadline_exceeded', message: /did not answer/ })
  t.ok(performance.now() - before < 15_000)
})

t.test('a host that never stops is left at the limit', async (t) => {
  const s = await started(t)
  let written = 0
  s.host.answer((_request, response) => {
    const chunk = Buffer.alloc(65_536, 'x')
    const pump = (): void => {
      while (!response.destroyed && response.write(chunk)) written += chunk.length
      written += chunk.length
    }
    response.on('drain', pump)
    pump()
  })
  const answer = await s.callHost()
  t.match(answer, { truncated: true, body_encoding: 'utf8' })
  t.equal(answer.body.length, 16_000)
  t.ok(written < 64 * 1_048_576, `the rest was not taken: ${written}`)
})

t.test('a few bytes that unpack to gigabytes cost no more than the limit', async (t) => {
  const s = await started(t)
  const bomb = gzipSync(Buffer.alloc(256 * 1_048_576))
  s.host.answer((_request, response) => {
    response.setHeader('content-encoding', 'gzip')
    response.end(bomb)
  })
  const before = process.memoryUsage().rss
  const answer = await s.callHost()
  t.equal(answer.truncated, true)
  t.ok(process.memoryUsage().rss - before < 128 * 1_048_576)
})

t.test('what a host breaks off, or what is no HTTP, says nothing of what was sent', async (t) => {
  const s = await started(t)
  const breaking: ((socket: NodeJS.WritableStream & { destroy(): void }) => void)[] = [
    (socket) => socket.destroy(),
    (socket) =>
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n${VALUE.slice(0, 9)}`, () =>
        socket.destroy(),
      ),
    (socket) => socket.end(`${VALUE} is no HTTP\r\n\r\n`),
    (socket) => socket.end(`HTTP/1.1 200 OK\r\nbad header ${VALUE}\r\n\r\n`),
    (socket) => socket.end(`HTTP/1.1 200 OK\r\nx: ${VALUE.repeat(2_000)}\r\n\r\n`),
    (socket) =>
      socket.end(`HTTP/1.1 101 Switching\r\nupgrade: ${VALUE}\r\nconnection: upgrade\r\n\r\n`),
  ]
  for (const [index, breakOff] of breaking.entries()) {
    s.host.answer((_request, _response, raw) => breakOff(raw.socket))
    const error = await refusal(s.callHost())
    t.match(error, { code: 'unavailable', message: /broke off/ }, `way ${index}`)
    t.notMatch(JSON.stringify(error), VALUE)
  }
  const log = s.log_lines.join('\n')
  t.match(log, 'call not served', 'the log was looked at')
  t.notMatch(log, VALUE)
  t.notMatch(log, VALUE.slice(0, 9))
  t.notMatch(log, Buffer.from(VALUE).toString('base64').slice(0, 20))
})
