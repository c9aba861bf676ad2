import { publish } from '@guildhall/bus'
import {
  decideApproval,
  getApproval,
  type InputOf,
  type Principal,
  requestResource,
  type SecretChanged,
  secretChanged,
} from '@guildhall/contracts'
import { waitFor } from '@guildhall/testing'
import t from 'tap'
import {
  type GoalWorld,
  goalWorld,
  holdTask,
  named,
  newAgent,
  putGoal,
  putTask,
} from './goal-world.ts'
import { newUser, refusal } from './setup.ts'

const request = (
  w: GoalWorld,
  input: Partial<InputOf<typeof requestResource>> = {},
  principal: Principal = w.coordinator,
) =>
  w.call(
    requestResource,
    {
      name: 'BREVO_API_KEY',
      resource_type: 'api_key',
      reason: 'send mail',
      task_id: w.task.task_id,
      ...input,
    },
    { principal },
  )

const show = (w: GoalWorld, approval_id: number) =>
  w.call(getApproval, { approval_id }, { principal: w.s.ann })

/** As the secrets service tells it. */
const secretSet = (w: GoalWorld, change: Partial<SecretChanged>, msg_id?: string) =>
  publish(
    w.bus,
    secretChanged.subject,
    {
      v: 1,
      user_id: w.s.ann.user_id,
      scope_type: 'agent',
      scope_id: w.coordinator.agent_id,
      name: 'BREVO_API_KEY',
      change: 'set',
      at: w.clock.now(),
      ...change,
    } satisfies SecretChanged,
    msg_id === undefined ? {} : { msg_id },
  )

const fulfilled = (w: GoalWorld, approval_id: number) =>
  waitFor(
    async () => {
      const approval = await show(w, approval_id)
      return approval.status === 'executed' && approval
    },
    { what: 'the request to be fulfilled' },
  )

t.test('scenario 35: asked within a held task, and answered by setting the secret', async (t) => {
  const w = await goalWorld(t)
  await holdTask(w.s, w.task, w.coordinator.agent_id)
  const { request_id, request_message_id } = await request(w)
  t.match((await w.messages('requests'))[0], {
    message_id: request_message_id,
    kind: 'resource_request',
    approval_id: request_id,
    body: /send mail/,
  })
  t.match(await show(w, request_id), {
    kind: 'resource',
    status: 'pending',
    payload: { name: 'BREVO_API_KEY', resource_type: 'api_key', task_id: w.task.task_id },
  })
  await secretSet(w, {}, `set-${request_id}-${w.task.task_id}`)
  t.match(await fulfilled(w, request_id), {
    effect: { scope: 'agent' },
    decided_by_user_id: w.s.ann.user_id,
  })
  const told = await w.messages(`dm-${w.coordinator.agent_id}`)
  t.equal(told.length, 1)
  t.match(told[0]?.body, /BREVO_API_KEY is now available/)
})

t.test('a secret answers the requests that its scope covers, and no others', async (t) => {
  const w = await goalWorld(t)
  const other = await newAgent(w.s, w.s.ann, { name: 'other' })
  const second = await putTask(w.s, w.goal, { verifier_agent_id: other.agent_id })
  await holdTask(w.s, w.task, w.coordinator.agent_id)
  const mine = await request(w)
  const otherName = await request(w, { name: 'OTHER_KEY' })
  const theirs = await request(w, { task_id: second.task_id }, other)
  await secretSet(w, { scope_id: 999_999 })
  await secretSet(w, { scope_type: 'user', scope_id: 999_999 })
  await secretSet(w, { change: 'revoked' })
  await secretSet(w, { scope_type: 'task', scope_id: second.task_id })
  await fulfilled(w, theirs.request_id)
  t.equal((await show(w, mine.request_id)).status, 'pending')
  await secretSet(w, { scope_type: 'user', scope_id: w.s.ann.user_id })
  await fulfilled(w, mine.request_id)
  t.equal((await show(w, otherName.request_id)).status, 'pending')
})

t.test('asking twice is asking once, also at the same time', async (t) => {
  const w = await goalWorld(t)
  await holdTask(w.s, w.task, w.coordinator.agent_id)
  const answers = await Promise.all([1, 2, 3, 4].map(() => request(w)))
  t.strictSame(new Set(answers.map(({ request_id }) => request_id)).size, 1)
  t.equal(await w.count('approvals'), 1)
  t.equal((await w.messages('requests')).length, 1)
})

t.test('scenario 36: only within a task that the caller holds or verifies', async (t) => {
  const w = await goalWorld(t)
  const bob = await newUser(w.db, w.clock, 'bob')
  const missing = await refusal(request(w, { task_id: 999_999 }))
  t.match(missing, named('ErrMissingTaskContext'))
  const same = async (tried: Promise<unknown>) => t.strictSame(await refusal(tried), missing)
  await same(request(w))
  await same(request(w, {}, w.s.ann))
  await same(request(w, { task_id: (await putTask(w.s, await putGoal(w.s, bob, 1))).task_id }))
  const other = await newAgent(w.s, w.s.ann, { name: 'other' })
  await holdTask(w.s, w.task, other.agent_id)
  await same(request(w))
  await holdTask(w.s, w.task, w.coordinator.agent_id, w.clock.now() + 1_000)
  w.clock.advance(1_000)
  await same(request(w))
  t.equal(await w.count('approvals'), 0)
  await putTask(w.s, w.goal, { ...w.task, verifier_agent_id: w.coordinator.agent_id })
  await t.resolves(request(w))
})

t.test('scenarios 33 and 36: names are upper case, as they will be set', async (t) => {
  const w = await goalWorld(t)
  await holdTask(w.s, w.task, w.coordinator.agent_id)
  for (const name of [
    'api_key',
    'Token1',
    '',
    'BAD-NAME',
    'WITH SPACE',
    'DOT.NAME',
    'ÜMLAUT',
    '_A',
  ]) {
    await t.rejects(request(w, { name }), { code: 'invalid_argument' }, name)
  }
  t.equal(await w.count('approvals'), 0)
})

t.test('a request is rejected with a reason; approving alone gives nothing', async (t) => {
  const w = await goalWorld(t)
  await holdTask(w.s, w.task, w.coordinator.agent_id)
  const { request_id: approval_id } = await request(w)
  const decide = (decision: 'approve' | 'reject', reason?: string) =>
    w.call(decideApproval, { approval_id, decision, reason }, { principal: w.s.ann })
  await t.rejects(decide('approve'), named('ErrIllegalTransition'))
  t.match(await show(w, approval_id), { status: 'pending', failure: null })
  t.match(await decide('reject', 'use the sandbox'), { status: 'rejected' })
  t.match((await w.messages(`dm-${w.coordinator.agent_id}`))[0]?.body, /use the sandbox/)
  await t.resolves(request(w), 'it may be asked for again')
})
