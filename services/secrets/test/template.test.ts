import type { ServiceError } from '@guildhall/contracts'
import t from 'tap'
import { isListed, parseTarget, redirectTarget } from '../src/brokered/target.ts'
import { fillTemplate, readTemplate, redirected } from '../src/brokered/template.ts'

const codeOf = (work: () => unknown): string => {
  try {
    work()
    return 'accepted'
  } catch (error) {
    return (error as ServiceError).code // whatever else it is has no code
  }
}

t.test('a URL is read strictly', async (t) => {
  t.strictSame(parseTarget('https://API.Example.com/a/../b?x={{KEY}}#frag', []), {
    host: 'api.example.com',
    port: 443,
    path: '/b',
    query: '?x={{KEY}}',
  })
  t.equal(parseTarget('https://bücher.example/', []).host, 'xn--bcher-kva.example')
  t.equal(parseTarget('https://a.example:443/', []).port, 443)
  t.equal(parseTarget('https://a.example:8443/', [8443]).port, 8443)
  const refused = [
    'http://a.example/',
    'HTTP://a.example/',
    'ftp://a.example/',
    '//a.example/',
    'a.example',
    'https://',
    'https://user@a.example/',
    'https://user:pass@a.example/',
    'https://@a.example/',
    'https://{{KEY}}@a.example/',
    'https://{{KEY}}.example/',
    'https://%7b%7bKEY%7d%7d.example/',
    'https://a.example/{{KEY}}',
    'https://a.example/%7B%7BKEY}}',
    'https://a.example\\@b.example/',
    'https://a.example/ b',
    'https://a.example/\r\nHost: b',
    'https://a.exa\tmple/',
    ' https://a.example/',
    'https://a.example/\0',
  ]
  for (const url of refused)
    t.equal(
      codeOf(() => parseTarget(url, [])),
      'invalid_argument',
      url,
    )
  for (const port of [80, 8443, 22, 65_535]) {
    t.equal(
      codeOf(() => parseTarget(`https://a.example:${port}/`, [])),
      'forbidden',
      `${port}`,
    )
  }
})

t.test('a host is one of the list or below one of it, and nothing that looks alike', async (t) => {
  const listed = (url: string, ...hosts: string[]) => isListed(parseTarget(url, []).host, hosts)
  t.ok(listed('https://api.example.com/', 'api.example.com'))
  t.ok(listed('https://API.EXAMPLE.COM/', 'api.example.com'))
  t.ok(listed('https://a.b.example.com/', '*.example.com'))
  t.ok(listed('https://bücher.example/', 'xn--bcher-kva.example'))
  const others = [
    'https://example.com/',
    'https://api.example.com.evil.test/',
    'https://evilexample.com/',
    'https://api.example.com./',
    'https://api.example.co/',
    'https://xapi.example.com/',
    // Cyrillic а, full-width letters are folded, and dots that are no dots.
    'https://аpi.example.com/',
    'https://api。example.com.evil.test/',
  ]
  for (const url of others) t.notOk(listed(url, 'api.example.com'), url)
  t.ok(listed('https://ａpi.example.com/', 'api.example.com'), 'full width is the same name')
  t.notOk(listed('https://example.com/', '*.example.com'), 'not the name itself')
  t.notOk(listed('https://evil-example.com/', '*.example.com'))
  const addresses = ['127.0.0.1', '2130706433', '0x7f.1', '0177.0.0.1', '127.1', '[::1]']
  for (const address of addresses) {
    t.notOk(listed(`https://${address}/`, '*.example.com', 'a.example'), address)
  }
  t.notOk(isListed('a.example', []), 'no host at all is listed by default')
})

const read = (more: object) =>
  readTemplate(
    { secret: 'KEY', method: 'POST', url: 'https://a.example/', body: '{{KEY}}', ...more },
    'KEY',
    [],
  )

t.test(
  'headers that are not the caller’s to set are refused, and so is what splits one',
  async (t) => {
    const names = [
      'Host',
      'content-length',
      'Transfer-Encoding',
      'Connection',
      'keep-alive',
      'Proxy-Authorization',
      'proxy-connection',
      'TE',
      'Trailer',
      'Upgrade',
      'Expect',
      'Accept-Encoding',
      'Range',
      'If-Range',
      '',
      ':authority',
      'a b',
      'a:b',
      'a\r\nb',
      'ä',
      '{{KEY}}',
    ]
    for (const name of names) {
      t.equal(
        codeOf(() => read({ headers: { [name]: 'x' } })),
        'invalid_argument',
        name,
      )
    }
    const values = ['a\r\nHost: b', 'a\nb', 'a\rb', 'a\0b', 'ä', ' a', 'a ', '\u007f']
    for (const value of values) {
      t.equal(
        codeOf(() => read({ headers: { a: value } })),
        'invalid_argument',
        JSON.stringify(value),
      )
    }
    t.equal(
      codeOf(() => read({ headers: { a: '1', A: '2' } })),
      'invalid_argument',
      'one name twice',
    )
    const many = Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`h${i}`, 'x']))
    t.equal(
      codeOf(() => read({ headers: many })),
      'invalid_argument',
    )
    const long = Object.fromEntries(
      Array.from({ length: 6 }, (_, i) => [`h${i}`, 'x'.repeat(3_000)]),
    )
    t.equal(
      codeOf(() => read({ headers: long })),
      'invalid_argument',
    )
    t.equal(
      codeOf(() => read({ headers: { __proto__x: 'x', 'x-a': '' } })),
      'accepted',
    )
  },
)

t.test('the placeholder must be somewhere, and is replaced as it is', async (t) => {
  t.equal(
    codeOf(() => read({ body: 'nothing' })),
    'invalid_argument',
  )
  t.equal(
    codeOf(() => read({ body: '{{KEY2}} {KEY}' })),
    'invalid_argument',
  )
  t.equal(
    codeOf(() => read({ body: undefined })),
    'invalid_argument',
  )
  const filled = fillTemplate(
    read({
      url: 'https://a.example/p?{{KEY}}',
      headers: { a: '{{key}}-{{KEY}}' },
      body: '{{Key}}',
    }),
    'KEY',
    "$& a+b/c?d='{{KEY}}'",
  )
  t.equal(filled.headers.a, "$& a+b/c?d='{{KEY}}'-$& a+b/c?d='{{KEY}}'")
  t.equal(filled.body?.toString(), "$& a+b/c?d='{{KEY}}'", 'once, not again in what was put in')
  t.equal(filled.path, `/p?${encodeURIComponent("$& a+b/c?d='{{KEY}}'")}`)
})

t.test('a value that no header can hold is refused for one, and not shown', async (t) => {
  const template = read({ headers: { a: 'x {{KEY}}' } })
  for (const value of ['line\nbreak-secret', 'nul\0-secret', 'gehéim-secret', 'padded-secret\n']) {
    try {
      fillTemplate(template, 'KEY', value)
      t.fail('accepted')
    } catch (error) {
      t.match(error, { code: 'invalid_argument' })
      t.notMatch(String(error), 'secret')
    }
  }
})

t.test('sizes count with the secret in them', async (t) => {
  const big = 'x'.repeat(262_144)
  t.equal(
    codeOf(() => read({ body: `${big}{{KEY}}` })),
    'payload_too_large',
  )
  const template = read({ body: `${'x'.repeat(262_130)}{{KEY}}` })
  t.equal(
    codeOf(() => fillTemplate(template, 'KEY', 'x'.repeat(20))),
    'payload_too_large',
  )
  const query = read({ url: 'https://a.example/?{{KEY}}', body: undefined })
  t.equal(
    codeOf(() => fillTemplate(query, 'KEY', 'x'.repeat(17_000))),
    'invalid_argument',
  )
})

t.test('a redirect leads where a browser would go, if that is allowed at all', async (t) => {
  const from = parseTarget('https://a.example/x/y', [])
  const to = (location: string) => redirectTarget(from, location, [])
  t.match(to('/z?q=1'), { host: 'a.example', path: '/z', query: '?q=1' })
  t.match(to('z'), { path: '/x/z' })
  t.match(to('//b.example/'), { host: 'b.example' })
  for (const location of [
    'http://a.example/',
    'https://u@a.example/',
    'javascript:1',
    'https://a.example:8443/',
    'https://',
  ]) {
    t.equal(to(location), undefined, location)
  }
  const template = read({ headers: { 'content-type': 'text/plain', a: '{{KEY}}' } })
  const target = parseTarget('https://a.example/z?{{KEY}}', [])
  const methods = (status: number) => redirected(template, status, target).method
  t.strictSame([301, 302, 303, 307, 308].map(methods), ['GET', 'GET', 'GET', 'POST', 'POST'])
  const seeOther = redirected(template, 303, target)
  t.strictSame([seeOther.body, seeOther.headers], [undefined, { a: '{{KEY}}' }])
  t.equal(
    fillTemplate(seeOther, 'KEY', 'value-of-key').path,
    '/z?{{KEY}}',
    'what a host writes is never filled in',
  )
})
