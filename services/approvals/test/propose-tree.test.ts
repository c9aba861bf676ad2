import {
  APPROVALS_PENDING_PER_AGENT_MAX,
  cancelApproval,
  decideApproval,
  getApproval,
  listApprovals,
  proposeTaskTree,
  setSettings,
} from '@guildhall/contracts'
import t, { type Test } from 'tap'
import { digestOf } from '../src/ask.ts'
import { type GoalWorld, goalWorld, named, newAgent, putGoal, TREE } from './goal-world.ts'
import { newUser, refusal } from './setup.ts'

const untouched = async (t: Test, w: GoalWorld) => {
  t.equal(await w.count('approvals'), 0)
  t.equal(await w.count('messages'), 0)
}

t.test('scenario 5: a proposal is a message in #approvals and a pending approval', async (t) => {
  const w = await goalWorld(t)
  const answer = await w.propose({ reasoning: 'small steps' })
  const { approval_id } = answer
  const [message] = await w.messages('approvals')
  const approval = await w.call(getApproval, { approval_id }, { principal: w.coordinator })

  t.match(message, {
    message_id: answer.proposal_message_id,
    channel_id: answer.channel_id,
    kind: 'task_proposal',
    from: `agent:${w.coordinator.agent_id}`,
    approval_id,
    state: 'proposed',
  })
  const payload = { tree: TREE, reasoning: 'small steps' }
  t.match(approval, {
    kind: 'task_tree',
    status: 'pending',
    requested_by_agent_id: w.coordinator.agent_id,
    goal_id: w.goal.goal_id,
    payload,
    digest: digestOf(payload),
    warnings: [],
    expires_at: new Date(w.clock.now() + 7 * 86_400_000).toISOString(),
  })
})

t.test(
  'scenario 6: a rejected proposal reaches the coordinator, who may propose again',
  async (t) => {
    const w = await goalWorld(t)
    const { approval_id } = await w.propose()
    const decided = await w.call(
      decideApproval,
      { approval_id, decision: 'reject', reason: 'too broad' },
      { principal: w.s.ann },
    )
    const [told] = await w.messages(`dm-${w.coordinator.agent_id}`)

    t.match(decided, {
      status: 'rejected',
      reason: 'too broad',
      decided_by_user_id: w.s.ann.user_id,
    })
    t.match(told?.body, /too broad/)
    await t.resolves(w.propose(), 'a new proposal is accepted')
  },
)

t.test('asking for changes reaches the coordinator as well', async (t) => {
  const w = await goalWorld(t)
  const { approval_id } = await w.propose()
  const decided = await w.call(
    decideApproval,
    { approval_id, decision: 'request_changes', reason: 'split the first task' },
    { principal: w.s.ann },
  )
  t.equal(decided.status, 'changes_requested')
  t.match((await w.messages(`dm-${w.coordinator.agent_id}`))[0]?.body, /split the first task/)
})

t.test('scenario 9: nobody but the coordinator and the owner proposes', async (t) => {
  const w = await goalWorld(t)
  const other = await newAgent(w.s, w.s.ann, { name: 'other', tool_scope: ['x'] })
  const bob = await newUser(w.db, w.clock, 'bob')
  const stranger = await newAgent(w.s, bob, { name: 'planner' })

  await t.rejects(w.propose({}, other), named('ErrNotPermitted'))
  const unknown = await refusal(w.propose({ goal_id: 999_999 }))
  t.strictSame(await refusal(w.propose({}, stranger)), unknown)
  t.strictSame(await refusal(w.propose({}, bob)), unknown)
  t.match(unknown, named('ErrGoalNotFound'))
  await untouched(t, w)
  const { approval_id } = await w.propose({}, w.s.ann)
  const approval = await w.call(getApproval, { approval_id }, { principal: w.s.ann })
  t.match(approval, { requested_by_agent_id: null, requested_by: `human:${w.s.ann.user_id}` })
})

t.test('a goal has one pending proposal, however many are made at once', async (t) => {
  const w = await goalWorld(t)
  const tries = await Promise.allSettled(Array.from({ length: 5 }, () => w.propose()))
  const made = tries.filter(({ status }) => status === 'fulfilled')

  t.equal(made.length, 1)
  for (const one of tries) {
    if (one.status === 'rejected') t.match(one.reason, named('ErrProposalPending'))
  }
  t.equal(await w.count('messages'), 1)
  t.equal(await w.count('approvals'), 1)
})

t.test(
  'a proposal changes no goal: on a paused one it waits, on an ended one it is refused',
  async (t) => {
    for (const status of ['paused', 'stuck', 'active'] as const) {
      await t.test(`it may be proposed for a goal that is ${status}`, async (t) => {
        await t.resolves((await goalWorld(t, { status })).propose())
      })
    }
    for (const status of ['completed', 'cancelled'] as const) {
      await t.test(`and not for one that is ${status}`, async (t) => {
        const w = await goalWorld(t, { status })
        await t.rejects(w.propose(), named('ErrIllegalTransition'))
        await untouched(t, w)
      })
    }
  },
)

const badTrees = [
  { what: 'a short title', tree: { ...TREE, title: 'x' }, path: /tree\.title/ },
  {
    what: 'a deep node that has an unknown key',
    tree: {
      ...TREE,
      children: [
        {
          title: 'child',
          description: 'long enough',
          children: [{ title: 'deep', description: 'long enough', colour: 'red' }],
        },
      ],
    },
    path: /tree\.children\[0\]\.children\[0\]/,
  },
  { what: 'a NUL in a text', tree: { ...TREE, title: 'a\u0000bc' }, path: /NUL/ },
  {
    what: 'a verifier that is no agent of the owner',
    tree: { ...TREE, verifier_config: { kind: 'peer' as const, agent_id: 999_999 } },
    path: /no active agent/,
  },
]

for (const { what, tree, path } of badTrees) {
  t.test(`a tree with ${what} is refused, and leaves nothing`, async (t) => {
    const w = await goalWorld(t)
    await t.rejects(w.propose({ tree }), { code: 'invalid_argument', message: path })
    await untouched(t, w)
  })
}

t.test('a tree that needs more than the goal has left is refused', async (t) => {
  const w = await goalWorld(t, { budget_tokens: 1_000, remaining_tokens: 900 })
  const tree = { ...TREE, budget_tokens: 1_000 }
  await t.rejects(w.propose({ tree }), named('ErrBudgetInsufficient'))
  await untouched(t, w)
})

t.test('the owner is warned of commands, above anything that the agent wrote', async (t) => {
  const w = await goalWorld(t)
  const tree = { ...TREE, verifier_config: { kind: 'command' as const, cmd: 'rm -rf .' } }
  await w.propose({ tree })
  const [message] = await w.messages('approvals')
  t.match(message?.body, /^WARNING: Command verifiers are disabled[^\n]*\nWARNING: [^\n]*rm -rf \./)

  const { approvals } = await w.call(listApprovals, { limit: 5 }, { principal: w.s.ann })
  const approval_id = approvals[0]?.approval_id ?? 0
  const approve = () =>
    w.call(decideApproval, { approval_id, decision: 'approve' }, { principal: w.s.ann })
  await t.rejects(approve(), named('ErrCommandVerifierDisabled'))
  await w.call(setSettings, { command_verifiers_enabled: true }, { principal: w.s.ann })
  t.match(await approve(), { status: 'approved', failure: null })
})

t.test('an idempotency key makes one proposal, and is refused for another', async (t) => {
  const w = await goalWorld(t)
  const idempotency_key = 'one'
  const first = await w.propose({ idempotency_key })
  t.strictSame(await w.propose({ idempotency_key }), first)
  t.equal(await w.count('approvals'), 1)
  await t.rejects(w.propose({ idempotency_key, reasoning: 'other' }), {
    code: 'idempotency_conflict',
  })
})

t.test('an agent has a bounded number pending; one withdrawn makes room', async (t) => {
  const w = await goalWorld(t)
  const { approval_id } = await w.propose()
  await w.db.raw(
    `insert into approvals (user_id, kind, status, title, requested_by_agent_id, requested_by,
       goal_id, channel_id, message_id, payload, digest, warnings, created_at, expires_at)
     select user_id, kind, status, title, requested_by_agent_id, requested_by, 1000000 + n,
       channel_id, message_id, payload, digest, warnings, created_at, expires_at
     from approvals, generate_series(1, ?) n`,
    [APPROVALS_PENDING_PER_AGENT_MAX - 1],
  )
  const next = await putGoal(w.s, w.s.ann, w.coordinator.agent_id)
  const propose = () =>
    w.call(proposeTaskTree, { goal_id: next.goal_id, tree: TREE }, { principal: w.coordinator })
  await t.rejects(propose(), { code: 'ceiling_exceeded' })
  const waiting = await w.call(listApprovals, { limit: 1 }, { principal: w.s.ann })
  t.equal(waiting.waiting_on_you, APPROVALS_PENDING_PER_AGENT_MAX)
  const cancelled = await w.call(cancelApproval, { approval_id }, { principal: w.coordinator })
  t.equal(cancelled.status, 'cancelled')
  await t.resolves(propose())
})

t.test('a message stays short, however much a proposal says', async (t) => {
  const w = await goalWorld(t)
  const children = Array.from({ length: 40 }, (_, index) => ({
    title: `task ${index}`,
    description: 'what there is to do',
    verifier_config: { kind: 'command' as const, cmd: `run ${index} ${'x'.repeat(1_500)}` },
  }))
  await w.propose({ tree: { ...TREE, children }, reasoning: 'y'.repeat(16_000) })
  const [message] = await w.messages('approvals')
  t.equal(message?.body.length, 16_000)
  t.match(message?.body, /and 31 more, in the approval/)
})
