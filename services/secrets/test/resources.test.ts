import { randomUUID } from 'node:crypto'
import { publish } from '@guildhall/bus'
import {
  type ApprovalDecided,
  type ApprovalRequested,
  approvalDecided,
  approvalRequested,
  type HumanPrincipal,
  listResources,
  listSecrets,
} from '@guildhall/contracts'
import { waitFor } from '@guildhall/testing'
import t from 'tap'
import { forgetOldRows } from '../src/reconcilers/forget-old.ts'
import { newOwner, refusal, type Setup, setup } from './setup.ts'

const VALUE = 'correct-horse-battery'
let approvals = Math.floor(Date.now() / 1_000)

const eventsFor = (s: Setup, owner: HumanPrincipal = s.owner) => {
  approvals += 1
  const shared = {
    v: 1,
    user_id: owner.user_id,
    approval_id: approvals,
    kind: 'resource',
    agent_id: 42,
    goal_id: null,
    task_id: 7,
    resource_name: 'BREVO_API_KEY',
    at: s.clock.now(),
  } as const
  return {
    requested: (more: Partial<ApprovalRequested> = {}, msg_id: string = randomUUID()) =>
      publish(s.bus, approvalRequested.subject, { ...shared, ...more }, { msg_id }),
    decided: (decision: ApprovalDecided['decision'], msg_id: string = randomUUID()) =>
      publish(
        s.bus,
        approvalDecided.subject,
        {
          ...shared,
          round: 1,
          decision,
          payload: {},
          reason: null,
          decided_by_user_id: owner.user_id,
        },
        { msg_id },
      ),
  }
}

/** Until the consumer has seen everything that is in the stream. */
const settled = async (s: Setup): Promise<void> => {
  await waitFor(
    async () => {
      const { num_pending, num_ack_pending } = await s.bus.jsm.consumers.info(
        'EVENTS',
        'secrets-approvals',
      )
      return num_pending === 0 && num_ack_pending === 0
    },
    { what: 'the consumer to have seen all events' },
  )
}

t.test('34 an agent sees names of its scopes, of each the one that would be used', async (t) => {
  const s = await setup(t)
  const { user_id } = s.owner
  const agent = await s.agent(s.owner, 42)
  await s.task(s.owner, 7)
  await s.claim(agent, 7)
  await s.set('user', user_id, 'SHARED', VALUE)
  await s.set('user', user_id, 'OF_USER', VALUE)
  await s.set('agent', 42, 'SHARED', VALUE)
  await s.set('agent', 42, 'OF_AGENT', VALUE)
  await s.set('task', 7, 'SHARED', VALUE)
  await s.agent(s.owner, 43)
  await s.set('agent', 43, 'OF_ANOTHER', VALUE)
  t.strictSame(await s.call(listResources, {}, agent), {
    resources: [
      { name: 'OF_AGENT', scope: 'agent', available: true },
      { name: 'OF_USER', scope: 'user', available: true },
      { name: 'SHARED', scope: 'agent', available: true },
    ],
  })
  t.strictSame(await s.call(listResources, { task_id: 7 }, agent), {
    resources: [
      { name: 'OF_AGENT', scope: 'agent', available: true },
      { name: 'OF_USER', scope: 'user', available: true },
      { name: 'SHARED', scope: 'task', available: true },
    ],
  })
})

t.test('36 only whoever holds or verifies a task reaches its secrets', async (t) => {
  const s = await setup(t)
  const holder = await s.agent(s.owner, 42)
  const other = await s.agent(s.owner, 43)
  const verifier = await s.agent(s.owner, 44)
  await s.task(s.owner, 7, { verifier_agent_id: 44 })
  await s.set('task', 7, 'KEY', VALUE)
  const seen = (principal: typeof holder | HumanPrincipal, task_id = 7) =>
    s.call(listResources, { task_id }, principal)
  const unheld = { code: 'forbidden', details: { error: 'ErrMissingTaskContext' } }
  t.match(await refusal(seen(holder)), unheld, 'before it is claimed')
  await s.claim(holder, 7)
  const key = { resources: [{ name: 'KEY', scope: 'task', available: true }] }
  t.strictSame(await seen(holder), key)
  t.strictSame(await seen(verifier), key)
  t.strictSame(await seen(s.owner), key, 'the owner always may')
  t.match(await refusal(seen(other)), unheld)
  s.clock.advance(60_001)
  t.match(await refusal(seen(holder)), unheld, 'after the lease')
  const unknown = await refusal(seen(holder, 999_999))
  t.match(unknown, { code: 'not_found', details: { error: 'ErrTaskNotFound' } })
  const stranger = await s.agent(newOwner(), 42)
  t.strictSame(await refusal(seen(stranger)), unknown, 'foreign is unknown')
})

t.test('35 what was asked for is shown as such until it is supplied', async (t) => {
  const s = await setup(t)
  const agent = await s.agent(s.owner, 42)
  await s.task(s.owner, 7)
  await s.claim(agent, 7)
  await eventsFor(s).requested()
  const pending = { name: 'BREVO_API_KEY', scope: 'agent', available: false }
  await waitFor(async () => (await s.call(listResources, {}, agent)).resources.length === 1, {
    what: 'the request to be seen',
  })
  t.strictSame((await s.call(listResources, {}, agent)).resources, [pending])
  t.strictSame((await s.call(listResources, { task_id: 7 }, agent)).resources, [
    { ...pending, scope: 'task' },
  ])
  for (const [scope_type, scope_id] of [
    ['user', s.owner.user_id],
    ['agent', 42],
    ['task', 7],
  ] as const) {
    t.strictSame(
      (await s.call(listSecrets, { scope_type, scope_id }, s.owner)).secrets,
      [{ name: 'BREVO_API_KEY', available: false, last_used_at: null }],
      `the owner is shown it where it could be set: ${scope_type}`,
    )
  }
  await s.set('agent', 42, 'BREVO_API_KEY', VALUE)
  t.strictSame((await s.call(listResources, {}, agent)).resources, [
    { ...pending, available: true },
  ])
  const user = { scope_type: 'user', scope_id: s.owner.user_id } as const
  t.strictSame((await s.call(listSecrets, user, s.owner)).secrets, [], 'and is served now')
})

t.test('a request that came to nothing is no longer shown; an approved one still is', async (t) => {
  const s = await setup(t)
  const agent = await s.agent(s.owner, 42)
  const names = async () => {
    await settled(s)
    return (await s.call(listResources, {}, agent)).resources.map(({ name }) => name)
  }
  for (const decision of ['rejected', 'changes_requested', 'expired', 'cancelled'] as const) {
    const events = eventsFor(s)
    await events.requested()
    t.strictSame(await names(), ['BREVO_API_KEY'])
    await events.decided(decision)
    t.strictSame(await names(), [], decision)
  }
  const events = eventsFor(s)
  await events.requested()
  await events.decided('approved')
  t.strictSame(await names(), ['BREVO_API_KEY'], 'it was not supplied yet')
})

t.test('redelivery, disorder and other kinds of approval change nothing', async (t) => {
  const s = await setup(t)
  const agent = await s.agent(s.owner, 42)
  const names = async () => {
    await settled(s)
    return (await s.call(listResources, {}, agent)).resources.map(({ name }) => name)
  }
  const late = eventsFor(s)
  await late.decided('rejected')
  await late.requested()
  t.strictSame(await names(), [], 'the decision came first')
  const twice = eventsFor(s)
  await twice.requested({ resource_name: 'TWICE' })
  await names()
  await twice.decided('rejected')
  // Past the window in which the stream knows a message again, as after a restore.
  await twice.requested({ resource_name: 'TWICE' })
  t.strictSame(await names(), [])
  await eventsFor(s).requested({ kind: 'tool_call' as never, resource_name: null })
  await eventsFor(s).requested({ kind: 'agent', resource_name: null })
  await eventsFor(s, newOwner()).requested()
  t.strictSame(await names(), [], 'nor what others ask for')
})

t.test('an event that nobody can read is a dead letter and holds up nothing', async (t) => {
  const s = await setup(t)
  const agent = await s.agent(s.owner, 42)
  const before = (await s.bus.jsm.streams.info('DEAD')).state.messages
  await publish(s.bus, approvalRequested.subject, { v: 99 }, { msg_id: randomUUID() })
  await eventsFor(s).requested()
  await settled(s)
  t.equal((await s.call(listResources, {}, agent)).resources.length, 1)
  t.equal((await s.bus.jsm.streams.info('DEAD')).state.messages, before + 1)
})

t.test('a request that arrives after the secret that serves it is not shown', async (t) => {
  const s = await setup(t)
  const agent = await s.agent(s.owner, 42)
  const events = eventsFor(s)
  s.clock.advance(1_000)
  await s.set('agent', 42, 'BREVO_API_KEY', VALUE)
  await events.requested()
  await settled(s)
  const user = { scope_type: 'user', scope_id: s.owner.user_id } as const
  t.strictSame((await s.call(listSecrets, user, s.owner)).secrets, [])
  t.match((await s.call(listResources, {}, agent)).resources, [{ available: true }])
})

t.test('what no decision depends on any more is forgotten', async (t) => {
  const s = await setup(t)
  const events = eventsFor(s)
  await events.requested()
  await events.decided('rejected')
  await eventsFor(s).requested({ resource_name: 'STILL_OPEN' })
  await settled(s)
  t.equal((await s.db('resource_requests')).length, 2)
  await forgetOldRows(s.deps)
  t.equal((await s.db('resource_requests')).length, 2)
  s.clock.advance(40 * 86_400_000)
  await forgetOldRows(s.deps)
  t.match(await s.db('resource_requests'), [{ name: 'STILL_OPEN' }])
})
