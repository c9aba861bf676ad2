import { describeDefaultLease, retryTodo } from '@guildhall/contracts'
import t from 'tap'
import { setup } from './support/gateway.ts'
import { post, postModern, request } from './support/mcp-client.ts'
import { newTodoId } from './support/todos.ts'

t.test('methods that were not declared are not found, in the way of each era', async (t) => {
  const f = await setup(t)
  const { token } = await f.vend()
  const methods = ['prompts/list', 'completion/complete', 'logging/setLevel', 'tasks/list', 'x']
  for (const method of [...methods, 'server/discover', 'subscriptions/listen']) {
    const { status, body } = await post(f.mcp_url, request(method), { token })
    t.match({ status, body }, { status: 200, body: { error: { code: -32_601 } } }, method)
  }
  const gone = ['ping', 'initialize', 'resources/subscribe', 'logging/setLevel']
  for (const method of [...methods, ...gone]) {
    const { status, body } = await postModern(f.mcp_url, token, method)
    t.match({ status, body }, { status: 404, body: { error: { code: -32_601 } } }, method)
  }
})

t.test('resources that are not there or not granted look the same', async (t) => {
  const f = await setup(t)
  const { token } = await f.vend({ tools: ['claim_next'] })
  const uris = ['guildhall://queues/builds', 'guildhall://events/recent', 'file:///etc/passwd']
  for (const uri of uris) {
    const legacy = await post(f.mcp_url, request('resources/read', { uri }), { token })
    t.match(legacy.body, {
      error: { code: -32_002, message: 'Resource not found', data: { uri } },
    })
    const modern = await postModern(f.mcp_url, token, 'resources/read', { uri })
    t.match(modern.body, { error: { code: -32_602, message: 'Resource not found' } })
  }
  const queue = { uri: 'guildhall://queues/inbox' }
  const { body } = await postModern(f.mcp_url, token, 'resources/read', queue)
  t.match(body, {
    result: { resultType: 'complete', ttlMs: 0, cacheScope: 'private', contents: [queue] },
  })
  t.match(JSON.stringify(body), 'may not list todos')
})

t.test('modern results carry their type, their server and how long they hold', async (t) => {
  const f = await setup(t)
  const { token } = await f.vend()
  const stamp = {
    resultType: 'complete',
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'guildhall' } },
  }
  const discovered = await postModern(f.mcp_url, token, 'server/discover')
  t.match(discovered.body, {
    result: { ...stamp, supportedVersions: ['2026-07-28'], cacheScope: 'private', ttlMs: 60_000 },
  })
  const listed = await postModern(f.mcp_url, token, 'tools/list')
  t.match(listed.body, { result: { ...stamp, cacheScope: 'private', ttlMs: 60_000 } })
  const called = await postModern(f.mcp_url, token, 'tools/call', { name: 'get_default_lease' })
  t.match(called.body, { result: { ...stamp, structuredContent: describeDefaultLease(null) } })
  t.equal('ttlMs' in (called.body as { result: object }).result, false)
  const refused = await postModern(f.mcp_url, token, 'tools/call', {
    name: retryTodo.name,
    arguments: { id: newTodoId() },
  })
  t.match(refused.body, { result: { ...stamp, isError: true } })
})
