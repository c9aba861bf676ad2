import {
  claimNext,
  createTodo,
  getMe,
  getTodo,
  type InputOf,
  listTodos,
  listWebhookEvents,
  login,
  type Operation,
  operations,
  revokeApiToken,
  routesOf,
  ServiceError,
  setPassword,
} from '@guildhall/contracts'
import t from 'tap'
import { type Fixture, newUserId, setup } from './support/gateway.ts'
import { call, type RestAnswer } from './support/rest-client.ts'
import { newTodoId, todoRow } from './support/todos.ts'

const user = { user_id: newUserId(), username: 'ada', created_at: '2030-01-01T00:00:00.000Z' }

const withLogin = (f: Fixture): InputOf<typeof login>[] => {
  const seen: InputOf<typeof login>[] = []
  f.approvals.on(login, (_ctx, input) => {
    seen.push(input)
    const good = 'login_token' in input.proof ? input.proof.login_token === 'once' : true
    if (!good) throw new ServiceError('unauthenticated', 'this proof is not accepted')
    return user
  })
  f.approvals.on(getMe, () => user)
  return seen
}

const cookieOf = (answer: RestAnswer): string =>
  answer.headers.getSetCookie()[0]?.split(';')[0] ?? ''

const loggedIn = async (f: Fixture): Promise<{ cookie: string; csrf: string }> => {
  const answer = await call(f, 'POST', '/api/login', { body: { login_token: 'once' } })
  return { cookie: cookieOf(answer), csrf: String(answer.body.csrf_token) }
}

t.test('an API token calls every kind of route, with the fields where they belong', async (t) => {
  const f = await setup(t)
  const user_id = newUserId()
  const token = await f.apiToken(user_id)
  const row = todoRow()
  f.tasks.on(listTodos, () => ({ todos: [row] }))
  f.tasks.on(createTodo, () => ({ ...row, created: true }))
  f.ingest.on(listWebhookEvents, () => ({ events: [] }))
  f.approvals.on(revokeApiToken, () => {
    throw new ServiceError('not_found', 'there is no such token')
  })
  const listed = await call(f, 'GET', '/api/todos?limit=3&state=pending', { token })
  t.strictSame([listed.status, listed.body], [200, { todos: [row] }])
  t.strictSame(f.tasks.callsOf(listTodos)[0]?.input, { limit: 3, state: 'pending' })
  t.strictSame(f.tasks.callsOf(listTodos)[0]?.principal, { kind: 'human', user_id })
  const body = { queue: 'inbox', title: 'By hand', payload: { a: [1, null] } }
  const key = { 'idempotency-key': 'once-1' }
  t.equal((await call(f, 'POST', '/api/todos', { token, body, headers: key })).status, 200)
  t.match(f.tasks.callsOf(createTodo)[0], { input: body, idempotency_key: 'once-1' })
  t.equal((await call(f, 'GET', '/api/webhook-events', { token })).status, 200)
  const revoked = await call(f, 'DELETE', '/api/tokens/at_x', { token })
  t.match(revoked, { status: 404, body: { code: 'not_found', request_id: /^req_/ } })
  t.strictSame(f.approvals.callsOf(revokeApiToken)[0]?.input, { token_id: 'at_x' })
})

t.test('bad input is a 400 that names the field', async (t) => {
  const f = await setup(t)
  const token = await f.apiToken(newUserId())
  const bad: readonly [string, string, unknown, RegExp][] = [
    ['GET', '/api/todos?limit=500', undefined, /limit: must be <= 200/],
    ['GET', '/api/todos?limit=x', undefined, /limit: must be integer/],
    ['GET', '/api/todos?limit=1&limit=2', undefined, /limit was given twice/],
    ['GET', '/api/todos?constructor=1', undefined, /unknown argument "constructor"/],
    ['GET', '/api/todos/td_1', undefined, /id: must match pattern/],
    ['GET', '/api/webhook-events/x', undefined, /id: must be integer/],
    ['POST', '/api/todos', { queue: 'inbox' }, /"title" is required/],
    ['POST', '/api/todos', [], /must be a JSON object/],
    ['POST', '/api/todos', 'null', /must be a JSON object/],
    ['POST', '/api/todos', '{"queue"', /not valid JSON/],
    [
      'POST',
      '/api/todos',
      '{"__proto__":{"queue":"inbox"},"queue":"a","title":"b"}',
      /unknown argument "__proto__"/,
    ],
    ['POST', `/api/todos/${newTodoId()}/claim`, { id: newTodoId() }, /id was given twice/],
  ]
  for (const [method, path, body, message] of bad) {
    const answer = await call(f, method, path, { token, ...(body === undefined ? {} : { body }) })
    t.match(answer, { status: 400, body: { code: 'invalid_argument', message } }, path)
  }
  const long = {
    token,
    body: { queue: 'inbox', title: 'x' },
    headers: { 'idempotency-key': 'x'.repeat(201) },
  }
  t.equal((await call(f, 'POST', '/api/todos', long)).status, 400)
  t.equal((await call(f, 'GET', '/api/nothing', { token })).status, 404)
  t.strictSame(f.tasks.calls, [])
})

t.test('only an owner gets in: no agent, no stranger', async (t) => {
  const f = await setup(t, { ADDRESS_RATE_PER_SECOND: '100000', ADDRESS_RATE_BURST: '100000' })
  const { token } = await f.vend()
  const routes = operations.flatMap((op: Operation) => routesOf(op))
  t.ok(routes.length > 20)
  for (const route of routes) {
    const path = route.path.replace(/\{[a-z_]+\}/g, '1')
    for (const credential of [{}, { token }, { token: 'api_unknown' }, { cookie: 'guildhall=x' }]) {
      const answer = await call(f, route.method, path, credential)
      t.match(answer, { status: 401, body: { code: 'unauthenticated' } }, path)
    }
  }
  t.strictSame([...f.tasks.calls, ...f.approvals.calls, ...f.ingest.calls], [])
})

t.test('a login gives a session, and a change needs its CSRF token', async (t) => {
  const f = await setup(t)
  const seen = withLogin(f)
  f.approvals.on(setPassword, () => ({ changed: true as const }))
  const answer = await call(f, 'POST', '/api/login', { body: { login_token: 'once' } })
  t.strictSame([answer.status, answer.body.user], [200, user])
  t.strictSame(seen, [{ proof: { login_token: 'once' }, client_address: '127.0.0.1' }])
  const [set_cookie] = answer.headers.getSetCookie()
  t.match(set_cookie, /^guildhall=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Lax$/)
  const cookie = cookieOf(answer)
  const csrf = String(answer.body.csrf_token)

  t.strictSame((await call(f, 'GET', '/api/me', { cookie })).body, user)
  const session = await call(f, 'GET', '/api/session', { cookie })
  t.match(session.body, { user_id: user.user_id, csrf_token: csrf })
  const body = { password: 'a long password' }
  for (const wrong of [{}, { csrf: '' }, { csrf: `${csrf}x` }]) {
    const refused = await call(f, 'PUT', '/api/me/password', { cookie, body, ...wrong })
    t.match(refused, { status: 403, body: { code: 'forbidden' } })
  }
  t.strictSame(f.approvals.callsOf(setPassword), [])
  const changed = await call(f, 'PUT', '/api/me/password', { cookie, csrf, body })
  t.strictSame([changed.status, changed.body], [200, { changed: true }])

  t.equal((await call(f, 'POST', '/api/logout', { cookie })).status, 403)
  t.equal((await call(f, 'POST', '/api/logout', { cookie, csrf })).status, 200)
  t.equal((await call(f, 'GET', '/api/me', { cookie })).status, 401)
})

t.test('a login ends the session that was there: none can be fixed beforehand', async (t) => {
  const f = await setup(t)
  withLogin(f)
  const { cookie } = await loggedIn(f)
  const second = await call(f, 'POST', '/api/login', { cookie, body: { login_token: 'once' } })
  t.not(cookieOf(second), cookie)
  t.equal((await call(f, 'GET', '/api/me', { cookie })).status, 401)
  t.equal((await call(f, 'GET', '/api/me', { cookie: cookieOf(second) })).status, 200)
  const planted = `guildhall=${'a'.repeat(43)}`
  const third = await call(f, 'POST', '/api/login', {
    cookie: planted,
    body: { login_token: 'once' },
  })
  t.not(cookieOf(third), planted)
})

t.test('a session lasts twelve hours from its last use', async (t) => {
  const f = await setup(t)
  withLogin(f)
  const { cookie } = await loggedIn(f)
  const HOUR_MS = 3_600_000
  for (let i = 0; i < 3; i += 1) {
    f.clock.advance(11 * HOUR_MS)
    t.equal((await call(f, 'GET', '/api/me', { cookie })).status, 200)
  }
  f.clock.advance(12 * HOUR_MS)
  t.equal((await call(f, 'GET', '/api/me', { cookie })).status, 401)
})

t.test('over https the cookie is Secure and bound to the host', async (t) => {
  const f = await setup(t, { PUBLIC_MCP_URL: 'https://mcp.example/mcp' })
  withLogin(f)
  const answer = await call(f, 'POST', '/api/login', { body: { username: 'ada', password: 'x' } })
  t.match(answer.headers.getSetCookie()[0], /^__Host-guildhall=.*HttpOnly; Secure; SameSite=Lax$/)
})

t.test('a login that fails says nothing of why and sets no cookie', async (t) => {
  const f = await setup(t)
  withLogin(f)
  const failed = await call(f, 'POST', '/api/login', { body: { login_token: 'used' } })
  t.match(failed, { status: 401, body: { code: 'unauthenticated' } })
  t.strictSame(failed.headers.getSetCookie(), [])
  for (const body of [{}, { username: 'ada' }, { login_token: 'once', username: 'ada' }, 7]) {
    t.equal((await call(f, 'POST', '/api/login', { body })).status, 400)
  }
  await f.approvals.stop()
  const down = await call(f, 'POST', '/api/login', { body: { login_token: 'once' } })
  t.match(down, { status: 503, body: { code: 'unavailable' } })
  t.equal(down.headers.get('retry-after'), '1')
})

const submit = (f: Fixture, form: Record<string, string>, headers: Record<string, string> = {}) =>
  fetch(`${f.gateway.url}/login`, { method: 'POST', body: new URLSearchParams(form), headers })

t.test(
  'a login link is redeemed by the button of its page, not by whoever fetches it',
  async (t) => {
    const f = await setup(t)
    const seen = withLogin(f)
    const hostile = '"><script>alert(1)</script>'
    const page = await fetch(`${f.gateway.url}/login?token=${encodeURIComponent(hostile)}`)
    const html = await page.text()
    t.equal(page.status, 200)
    t.match(page.headers.get('content-type'), 'text/html')
    t.match(page.headers.get('content-security-policy'), "default-src 'none'; form-action 'self'")
    // no-referrer would make browsers send "Origin: null" with the form.
    t.equal(page.headers.get('referrer-policy'), 'same-origin')
    t.notMatch(html, '<script')
    t.match(html, 'value="&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"')
    t.strictSame(seen, [])

    const foreign = await submit(f, { login_token: 'once' }, { origin: 'https://evil.example' })
    t.equal(foreign.status, 403)
    t.strictSame(seen, [])
    const used = await submit(f, { login_token: 'used' })
    t.equal(used.status, 401)
    t.match(await used.text(), 'expired or was used')
    const good = await submit(f, { login_token: 'once' }, { origin: f.gateway.url })
    t.equal(good.status, 200)
    t.match(await good.text(), 'logged in as ada')
    const cookie = good.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    t.equal((await call(f, 'GET', '/api/me', { cookie })).status, 200)
    t.equal((await fetch(`${f.gateway.url}/login`)).status, 400)
    for (const [type, status] of [
      ['text/plain', 415],
      ['application/json', 400],
    ] as const) {
      const headers = { 'content-type': type }
      const odd = await fetch(`${f.gateway.url}/login`, { method: 'POST', body: '{}', headers })
      t.equal(odd.status, status, type)
    }
    t.equal((await submit(f, { login_token: 'x'.repeat(5_000) })).status, 413)
  },
)

t.test('a form is read by the login page only', async (t) => {
  const f = await setup(t)
  const token = await f.apiToken(newUserId())
  const headers = { authorization: `Bearer ${token}` }
  const body = new URLSearchParams({ queue: 'inbox', title: 'x' })
  const answer = await fetch(`${f.gateway.url}/api/todos`, { method: 'POST', body, headers })
  t.equal(answer.status, 415)
})

t.test('an owner waits for work, too', async (t) => {
  const f = await setup(t)
  const token = await f.apiToken(newUserId())
  const waits: unknown[] = []
  f.tasks.on(claimNext, (_ctx, { wait_seconds }) => {
    waits.push(wait_seconds)
    return { empty: true }
  })
  const answer = await call(f, 'POST', '/api/claim_next', { token, body: { wait_seconds: 15 } })
  t.strictSame([answer.status, answer.body], [200, { empty: true }])
  t.strictSame(waits, [10, 5])
})

t.test('errors of services have the status of the table', async (t) => {
  const f = await setup(t)
  const token = await f.apiToken(newUserId())
  const codes = [
    ['conflict', 409],
    ['rate_limited', 429],
    ['unavailable', 503],
    ['internal', 500],
  ] as const
  for (const [code, status] of codes) {
    f.tasks.on(getTodo, () => {
      throw new ServiceError(code, 'as it is')
    })
    const answer = await call(f, 'GET', `/api/todos/${newTodoId()}`, { token })
    t.match(answer, { status, body: { code } })
    const retryable = code === 'rate_limited' || code === 'unavailable'
    t.equal(answer.headers.get('retry-after'), retryable ? '1' : null)
  }
})

t.test('the OpenAPI document has every route of the contract', async (t) => {
  const f = await setup(t)
  const { body } = await call(f, 'GET', '/api/openapi.json')
  t.equal(body.openapi, '3.1.0')
  const paths = body.paths as Record<string, Record<string, { operationId: string }>> // OpenAPI
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => `${method} ${path} ${operationId}`),
  )
  const expected = operations.flatMap((op: Operation) =>
    routesOf(op).map(
      ({ method, path, fixed = {} }) =>
        `${method.toLowerCase()} ${path} ${[op.name, ...Object.values(fixed)].join('_')}`,
    ),
  )
  t.strictSame(described.toSorted(), expected.toSorted())
  t.match(paths['/api/todos/{id}']?.get, {
    parameters: [
      { name: 'id', in: 'path', required: true },
      { name: 'attempts_limit', in: 'query' },
    ],
    responses: { 200: { content: { 'application/json': {} } }, 404: {}, 401: {} },
  })
})
