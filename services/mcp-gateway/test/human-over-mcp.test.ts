import { decideApproval, listTodos, ServiceError, tools } from '@guildhall/contracts'
import t from 'tap'
import { newUserId, setup } from './support/gateway.ts'
import { callTool, post, postModern, request, toolError } from './support/mcp-client.ts'
import { todoRow } from './support/todos.ts'

const namesOf = (body: unknown): string[] =>
  (body as { result: { tools: { name: string }[] } }).result.tools.map(({ name }) => name) // a failure fails the assertion

t.test('a person with an API token has every tool, and calls as a person', async (t) => {
  const f = await setup(t)
  const user_id = newUserId()
  const token = await f.apiToken(user_id)
  const names = namesOf((await post(f.mcp_url, request('tools/list'), { token })).body)
  const of_endpoints = ['get_default_lease', 'set_default_lease']
  t.strictSame(
    names,
    tools.map(({ name }) => name).filter((name) => !of_endpoints.includes(name)),
  )
  f.tasks.on(listTodos, () => ({ todos: [todoRow()] }))
  t.equal((await callTool(f.mcp_url, token, 'list_todos', {})).isError, undefined)
  t.strictSame(f.tasks.callsOf(listTodos)[0]?.principal, { kind: 'human', user_id })
  f.approvals.on(decideApproval, () => {
    throw new ServiceError('not_found', 'there is no such approval')
  })
  const decided = await callTool(f.mcp_url, token, 'decide_approval', {
    approval_id: 1,
    decision: 'approve',
  })
  t.match(toolError(decided), { code: 'not_found' })
  const lease = await callTool(f.mcp_url, token, 'get_default_lease', {})
  t.match(toolError(lease), { code: 'forbidden' })
})

t.test(
  'an agent neither sees nor may call what is for people, whatever it is granted',
  async (t) => {
    const f = await setup(t)
    const { token } = await f.vend({ tools: tools.map(({ name }) => name) })
    const names = namesOf((await post(f.mcp_url, request('tools/list'), { token })).body)
    for (const name of ['decide_approval', 'resume_goal', 'unquarantine_agent', 'cancel_goal']) {
      t.notOk(names.includes(name), name)
    }
    t.ok(names.includes('claim_task'))
    const refused = await callTool(f.mcp_url, token, 'decide_approval', {
      approval_id: 1,
      decision: 'approve',
    })
    t.match(toolError(refused), {
      code: 'forbidden',
      message: 'decide_approval is for people, and this is an agent',
      what_to_do: /Ask your owner/,
    })
    t.strictSame(f.approvals.callsOf(decideApproval), [])
  },
)

t.test(
  'a person has no queue to be rung for: no stream, and a subscription that ends',
  async (t) => {
    const f = await setup(t)
    const token = await f.apiToken(newUserId())
    const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' }
    const stream = await fetch(f.mcp_url, { headers })
    t.equal(stream.status, 405)
    await stream.body?.cancel()
    const listened = await postModern(f.mcp_url, token, 'subscriptions/listen', {
      notifications: { toolsListChanged: true },
    })
    t.equal(listened.status, 200)
    t.match(String(listened.body), /"result"/)
  },
)

t.test('a revoked or expired API token is nobody over MCP as well', async (t) => {
  const f = await setup(t)
  const answer = await post(f.mcp_url, request('tools/list'), { token: 'api_unknown-token' })
  t.equal(answer.status, 401)
})
