import {
  claim,
  claimNext,
  complete,
  createTodo,
  describeDefaultLease,
  getTodo,
  heartbeat,
  listTodos,
  release,
  ServiceError,
  setDefaultLease,
} from '@guildhall/contracts'
import { waitFor } from '@guildhall/testing'
import t from 'tap'
import { type Fixture, setup } from './support/gateway.ts'
import { callTool, post, request, toolError } from './support/mcp-client.ts'
import { claimedTodo, todoRow } from './support/todos.ts'

const { lease_token, fence, attempt_seq, attempts_total, prior_attempts, ...todo } = claimedTodo()
const claimed = {
  empty: false,
  todo,
  lease_token,
  fence,
  attempt_seq,
  attempts_total,
  prior_attempts,
}

t.test('a granted tool reaches its service and answers as structure and as text', async (t) => {
  const f = await setup(t)
  const { token, endpoint } = await f.vend()
  f.tasks.on(claimNext, () => claimed)
  const result = await callTool(f.mcp_url, token, claimNext.name, { queue: 'inbox' })
  t.strictSame(result.structuredContent, claimed)
  t.strictSame(JSON.parse(result.content[0]?.text ?? ''), claimed)
  t.equal(result.isError, undefined)
  const [call] = f.tasks.callsOf(claimNext)
  t.match(call?.principal, {
    kind: 'agent',
    user_id: endpoint.user_id,
    endpoint_id: endpoint.endpoint_id,
    scope: { queues: ['inbox'], default_lease_ttl_seconds: null },
  })
  t.match(call?.idempotency_key, /^[0-9a-f-]{36}$/)
})

t.test('C2 a tool that is not granted is not listed, and refused without any effect', async (t) => {
  const f = await setup(t)
  const { token } = await f.vend({ tools: ['claim_next', 'list_todos'] })
  const { body } = await post(f.mcp_url, request('tools/list'), { token })
  const { result } = body as { result: { tools: { name: string }[] } } // a failure fails the assertion
  t.strictSame(
    result.tools.map(({ name }) => name),
    ['claim_next', 'list_todos', 'get_todo'],
  )
  const refused = await callTool(f.mcp_url, token, complete.name, { id: todo.id })
  t.equal(refused.isError, true)
  t.equal(refused.structuredContent, undefined)
  t.match(toolError(refused), {
    code: 'forbidden',
    message: 'this endpoint is not granted complete',
    what_to_do: /ask your owner/,
    details: { tool: 'complete', grant: 'complete' },
    request_id: /^req_/,
  })
  t.strictSame(f.tasks.callsOf(complete), [])
})

t.test('C2 a name that no tool has is an error of the protocol', async (t) => {
  const f = await setup(t)
  const { token } = await f.vend()
  for (const name of ['no_such_tool', 'constructor', '__proto__', 'oldest_pending', '', 7, null]) {
    const { body } = await post(f.mcp_url, request('tools/call', { name }), { token })
    t.match(body, { id: 1, error: { code: -32_602, message: /^Unknown tool/ } })
  }
  for (const args of [null, [], 'x', 7]) {
    const call = request('tools/call', { name: 'list_todos', arguments: args })
    t.match((await post(f.mcp_url, call, { token })).body, { error: { code: -32_602 } })
  }
})

t.test('C3 what a service refuses comes through as it is', async (t) => {
  const f = await setup(t)
  const { token } = await f.vend()
  f.tasks.on(claimNext, () => {
    throw new ServiceError('forbidden', 'the queue "builds" is not granted', {
      details: { error: 'ErrQueueNotGranted', queue: 'builds' },
    })
  })
  t.match(toolError(await callTool(f.mcp_url, token, claimNext.name, { queue: 'builds' })), {
    code: 'forbidden',
    message: 'the queue "builds" is not granted',
    details: { error: 'ErrQueueNotGranted' },
  })
})

const wrong: readonly [string, object, readonly (readonly [string, RegExp])[]][] = [
  ['list_todos', { limit: 500 }, [['limit', /<= 200/]]],
  ['list_todos', { limit: 0 }, [['limit', />= 1/]]],
  ['list_todos', { limit: '5' }, [['limit', /must be integer/]]],
  ['list_todos', { state: 'open' }, [['state', /one of pending, claimed, done, failed/]]],
  ['list_todos', { que: 'inbox' }, [['', /unknown argument "que"; allowed: queue, state/]]],
  ['complete', {}, [['', /"id" is required/]]],
  ['complete', { id: 'td_1' }, [['id', /pattern/]]],
  ['set_default_lease', {}, [['', /"default_lease_ttl_seconds" is required/]]],
  [
    'set_default_lease',
    { default_lease_ttl_seconds: 59 },
    [['default_lease_ttl_seconds', />= 60/]],
  ],
  [
    'set_default_lease',
    { default_lease_ttl_seconds: 60, endpoint_id: 'ep_x' },
    [['', /unknown argument "endpoint_id"/]],
  ],
  ['get_default_lease', { any: 1 }, [['', /none is allowed/]]],
  [
    'claim_next',
    { wait_seconds: 51, queue: 'a b' },
    [
      ['queue', /pattern/],
      ['wait_seconds', /<= 50/],
    ],
  ],
  [
    'create_todo',
    { queue: 'inbox', title: '', not_before: 'now' },
    [
      ['title', /fewer than 1/],
      ['not_before', /date-time/],
    ],
  ],
]

t.test('arguments are checked, and each problem is named with what is allowed', async (t) => {
  const f = await setup(t)
  const { token } = await f.vend()
  for (const [name, args, expected] of wrong) {
    const result = await callTool(f.mcp_url, token, name, args)
    t.equal(result.isError, true)
    const { code, details } = toolError(result) as {
      code: string
      details: { problems: { path: string; problem: string }[] }
    } // the error body
    t.equal(code, 'invalid_argument')
    t.equal(details.problems.length, expected.length)
    for (const [i, [path, text]] of expected.entries()) {
      t.equal(details.problems[i]?.path, path)
      t.match(details.problems[i]?.problem, text)
    }
  }
  t.strictSame(f.approvals.calls, [])
})

t.test('the key of the client is the key of the call, and reads have none', async (t) => {
  const f = await setup(t)
  const { token } = await f.vend()
  f.tasks.on(createTodo, () => ({ ...todoRow(), created: true }))
  f.tasks.on(listTodos, () => ({ todos: [] }))
  const args = { queue: 'inbox', title: 'x', idempotency_key: 'mine' }
  await callTool(f.mcp_url, token, createTodo.name, args)
  await callTool(f.mcp_url, token, createTodo.name, { queue: 'inbox', title: 'x' })
  await callTool(f.mcp_url, token, createTodo.name, { queue: 'inbox', title: 'x' })
  await callTool(f.mcp_url, token, listTodos.name)
  const [first, second, third] = f.tasks.callsOf(createTodo).map((call) => call.idempotency_key)
  t.equal(first, 'mine')
  t.not(second, third)
  t.equal(f.tasks.callsOf(listTodos)[0]?.idempotency_key, undefined)
})

t.test('a service that is down is an error that says when to come back', async (t) => {
  const f = await setup(t)
  const { token } = await f.vend()
  await f.tasks.stop()
  t.match(toolError(await callTool(f.mcp_url, token, heartbeat.name, { id: todo.id })), {
    code: 'unavailable',
    retry_after_seconds: 1,
  })
  t.match(
    toolError(await callTool(f.mcp_url, token, 'get_default_lease')),
    {},
    'what needs no service still works',
  )
})

t.test('an answer that breaks the contract is an internal error without its text', async (t) => {
  const f = await setup(t)
  const { token } = await f.vend()
  f.tasks.on(getTodo, () => {
    throw new TypeError('secret of the database')
  })
  const result = await callTool(f.mcp_url, token, getTodo.name, { id: todo.id })
  t.equal(toolError(result).code, 'internal')
  t.notMatch(JSON.stringify(result), 'secret')
})

t.test('B7 a default lease that was set is there for the next call', async (t) => {
  const f = await setup(t)
  const { token, endpoint } = await f.vend()
  f.approvals.on(setDefaultLease, async (_ctx, { default_lease_ttl_seconds }) => {
    // The answer overtakes the bucket: the gateway has to wait for what it will serve from.
    setImmediate(() => void f.edit(endpoint, { default_lease_ttl_seconds }))
    return describeDefaultLease(default_lease_ttl_seconds)
  })
  const set = await callTool(f.mcp_url, token, setDefaultLease.name, {
    default_lease_ttl_seconds: 1_800,
  })
  t.strictSame(set.structuredContent, describeDefaultLease(1_800))
  const got = await callTool(f.mcp_url, token, 'get_default_lease')
  t.strictSame(got.structuredContent, describeDefaultLease(1_800))
  f.tasks.on(claimNext, () => ({ empty: true }))
  await callTool(f.mcp_url, token, claimNext.name)
  t.match(f.tasks.callsOf(claimNext)[0]?.principal, {
    scope: { default_lease_ttl_seconds: 1_800 },
  })
})

const longRow = (i: number) => todoRow({ title: `${i} ${'long '.repeat(50)}` })

t.test('B24 a list that is too long for a model is cut at a row, with its cursor', async (t) => {
  const f = await setup(t)
  const { token } = await f.vend()
  const rows = Array.from({ length: 200 }, (_, i) => longRow(i))
  f.tasks.on(listTodos, (_ctx, { limit }) => ({
    todos: rows.slice(0, limit),
    ...(limit < rows.length ? { next_cursor: `after ${limit}` } : {}),
  }))
  const result = await callTool(f.mcp_url, token, listTodos.name, { limit: 200 })
  const text = result.content[0]?.text ?? ''
  const { todos, next_cursor } = result.structuredContent as {
    todos: unknown[]
    next_cursor: string
  } // the output of list_todos
  t.ok(text.length <= 20_000)
  t.ok(todos.length > 20)
  t.strictSame(todos, rows.slice(0, todos.length))
  t.equal(next_cursor, `after ${todos.length}`)
})

/** Sends a call and hangs up as soon as the service has begun with it. */
const hangUpDuring = async (
  f: Fixture,
  token: string,
  name: string,
  args: object,
  begun: () => boolean,
): Promise<void> => {
  const controller = new AbortController()
  const sent = fetch(f.mcp_url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify(request('tools/call', { name, arguments: args })),
    signal: controller.signal,
  })
  await waitFor(begun, { what: `${name} to have begun` })
  controller.abort()
  await sent.catch(() => undefined)
}

t.test('a claim whose client hung up is given back', async (t) => {
  const f = await setup(t)
  const { token } = await f.vend({ tools: ['claim_next', 'claim'] })
  const gate: { open: () => void }[] = []
  const held = () => new Promise<void>((open) => gate.push({ open }))
  f.tasks.on(claimNext, async () => {
    await held()
    return claimed
  })
  f.tasks.on(claim, async () => {
    await held()
    return { ...todo, lease_token, fence, attempt_seq, attempts_total, prior_attempts }
  })
  f.tasks.on(release, () => todoRow())
  await hangUpDuring(f, token, claimNext.name, {}, () => gate.length === 1)
  gate[0]?.open()
  await waitFor(() => f.tasks.callsOf(release).length === 1, { what: 'the release' })
  await hangUpDuring(f, token, claim.name, { id: todo.id }, () => gate.length === 2)
  gate[1]?.open()
  await waitFor(() => f.tasks.callsOf(release).length === 2, { what: 'the second release' })
  for (const { input, idempotency_key } of f.tasks.callsOf(release)) {
    t.match(input, { id: todo.id, lease_token, summary: /gone/ })
    t.match(idempotency_key, /^undo-req_/)
  }
})

t.test('a claim under a key of the client is kept for its repeat', async (t) => {
  const f = await setup(t)
  const { token } = await f.vend()
  const gate: { open: () => void }[] = []
  f.tasks.on(claimNext, async () => {
    await new Promise<void>((open) => gate.push({ open }))
    return claimed
  })
  f.tasks.on(release, () => todoRow())
  const args = { idempotency_key: 'mine' }
  await hangUpDuring(f, token, claimNext.name, args, () => gate.length === 1)
  gate[0]?.open()
  // The repeat of the same client comes after the lost answer was dealt with.
  const repeat = callTool(f.mcp_url, token, claimNext.name, args)
  await waitFor(() => gate.length === 2, { what: 'the repeat' })
  gate[1]?.open()
  t.strictSame((await repeat).structuredContent, claimed)
  t.strictSame(f.tasks.callsOf(release), [])
})

t.test('a long wait is asked for in slices, under one key', async (t) => {
  const f = await setup(t)
  const { token } = await f.vend()
  const waits: unknown[] = []
  f.tasks.on(claimNext, (_ctx, { wait_seconds }) => {
    waits.push(wait_seconds)
    return waits.length < 3 ? { empty: true } : claimed
  })
  const result = await callTool(f.mcp_url, token, claimNext.name, { wait_seconds: 25 })
  t.strictSame(result.structuredContent, claimed)
  t.strictSame(waits, [10, 10, 5])
  t.equal(new Set(f.tasks.callsOf(claimNext).map((call) => call.idempotency_key)).size, 1)
  waits.length = 0
  f.tasks.on(claimNext, (_ctx, { wait_seconds }) => {
    waits.push(wait_seconds)
    return { empty: true }
  })
  await callTool(f.mcp_url, token, claimNext.name, { wait_seconds: 12 })
  await callTool(f.mcp_url, token, claimNext.name, { wait_seconds: 0 })
  await callTool(f.mcp_url, token, claimNext.name)
  t.strictSame(waits, [10, 2, 0, undefined])
})

t.test('a wait ends when its credential does', async (t) => {
  const f = await setup(t)
  const vended = await f.vend()
  f.tasks.on(claimNext, async () => {
    await f.revoke(vended)
    await waitFor(
      async () => {
        const answer = await post(f.mcp_url, request('ping'), { token: vended.token })
        return answer.status === 401
      },
      { what: 'the revocation' },
    )
    return { empty: true }
  })
  const result = await callTool(f.mcp_url, vended.token, claimNext.name, { wait_seconds: 50 })
  t.equal(toolError(result).code, 'unauthenticated')
  t.equal(f.tasks.callsOf(claimNext).length, 1)
})
