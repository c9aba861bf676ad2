import {
  claimCredential,
  decideApproval,
  listGoals,
  type OutputOf,
  ServiceError,
} from '@guildhall/contracts'
import t from 'tap'
import { newUserId, setup } from './support/gateway.ts'
import { call } from './support/rest-client.ts'

t.test(
  'a route decides what stands in its path, and a request may not say otherwise',
  async (t) => {
    const f = await setup(t)
    const token = await f.apiToken(newUserId())
    const approval: OutputOf<typeof decideApproval> = {
      approval_id: 5,
      kind: 'task_tree',
      status: 'rejected',
      title: 'A tree',
      requested_by_agent_id: 7,
      requested_by: 'worker',
      goal_id: 1,
      task_id: null,
      channel_id: 1,
      message_id: 2,
      digest: 'd',
      warnings: [],
      created_at: '2030-01-01T00:00:00.000Z',
      expires_at: '2030-01-08T00:00:00.000Z',
      decided_at: null,
      decided_by_user_id: null,
      reason: 'too broad',
      failure: null,
    }
    f.approvals.on(decideApproval, () => approval)
    const routes = { approve: 'approve', reject: 'reject', 'request-changes': 'request_changes' }
    for (const [path, decision] of Object.entries(routes)) {
      const url = `/api/approvals/5/${path}`
      const answer = await call(f, 'POST', url, { token, body: { reason: 'too broad' } })
      t.strictSame([answer.status, answer.body], [200, approval])
      const input = { approval_id: 5, decision, reason: 'too broad' }
      t.strictSame(f.approvals.callsOf(decideApproval).at(-1)?.input, input)
      const other = await call(f, 'POST', url, { token, body: { decision: 'approve' } })
      t.match(other, { status: 400, body: { message: /unknown argument "decision"/ } })
    }
    t.equal(f.approvals.callsOf(decideApproval).length, 3)
  },
)

t.test('a list that the contract gives bare is an array, and its cursor a header', async (t) => {
  const f = await setup(t)
  const token = await f.apiToken(newUserId())
  const goal: OutputOf<typeof listGoals>['goals'][number] = {
    id: 1,
    slug: 'docs',
    title: 'Docs',
    status: 'draft',
    owner_user_id: 1,
    channel_id: 2,
    cost_totals: { tokens: 0, dollars_cents: 0 },
    task_count: 0,
    last_activity_at: '2030-01-01T00:00:00.000Z',
  }
  f.tasks.on(listGoals, (_ctx, { cursor }) =>
    cursor === undefined ? { goals: [goal], next_cursor: 'c1' } : { goals: [] },
  )
  const first = await call(f, 'GET', '/api/goals', { token })
  t.strictSame([first.status, first.body], [200, [goal]])
  t.equal(first.headers.get('x-next-cursor'), 'c1')
  const last = await call(f, 'GET', '/api/goals?cursor=c1', { token })
  t.strictSame([last.body, last.headers.get('x-next-cursor')], [[], null])
})

t.test(
  'whoever has the claim token of a credential gets it, without any other proof',
  async (t) => {
    const f = await setup(t)
    const given = {
      agent_id: 3,
      agent_name: 'docs-scanner',
      token: 'agt_secret',
      mcp_url: 'http://127.0.0.1/mcp',
      client_config: {},
    }
    f.approvals.on(claimCredential, (_ctx, { claim_token }) => {
      if (claim_token === 'once') return given
      throw new ServiceError('unauthenticated', 'this token is not accepted')
    })
    const claim = (body: unknown) => call(f, 'POST', '/api/credentials/claim', { body })
    const answer = await claim({ claim_token: 'once' })
    t.strictSame([answer.status, answer.body], [200, given])
    t.equal(answer.headers.get('cache-control'), 'no-store')
    t.match(await claim({ claim_token: 'other' }), { status: 401 })
    for (const body of [{}, [], { claim_token: 7 }, { claim_token: 'once', extra: 1 }]) {
      t.match(await claim(body), { status: 400, body: { code: 'invalid_argument' } })
    }
  },
)
