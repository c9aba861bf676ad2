import { claimNext, complete, getDefaultLease } from '@guildhall/contracts'
import t from 'tap'
import { setup } from './support/gateway.ts'
import { callTool } from './support/mcp-client.ts'
import { claimedTodo, todoRow } from './support/todos.ts'

t.test('a granted tool reaches its service and answers as structure and as text', async (t) => {
  const f = await setup(t)
  const { token } = await f.vend()
  const { lease_token, fence, attempt_seq, attempts_total, prior_attempts, ...todo } = claimedTodo()
  const output = {
    empty: false,
    todo,
    lease_token,
    fence,
    attempt_seq,
    attempts_total,
    prior_attempts,
  }
  f.tasks.on(claimNext, () => output)
  const result = await callTool(f.mcp_url, token, claimNext.name, { queue: 'inbox' })
  t.strictSame(result.structuredContent, output)
  t.strictSame(JSON.parse(result.content[0]?.text ?? ''), output)
  f.tasks.on(complete, () => todoRow({ id: todo.id, state: 'done' }))
  const done = await callTool(f.mcp_url, token, complete.name, { id: todo.id, lease_token })
  t.equal(done.structuredContent?.state, 'done')
  const lease = await callTool(f.mcp_url, token, getDefaultLease.name)
  t.equal(lease.structuredContent?.effective_lease_ttl_seconds, 300)
})
