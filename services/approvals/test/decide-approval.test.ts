import {
  approvalDecided,
  cancelApproval,
  decideApproval,
  type GoalRecord,
  getApproval,
  type InputOf,
  listApprovals,
  react,
} from '@guildhall/contracts'
import t from 'tap'
import { digestOf } from '../src/ask.ts'
import { handleDecideApproval } from '../src/operations/decide-approval.ts'
import { type GoalWorld, goalWorld, named, newAgent, putGoal, TREE } from './goal-world.ts'
import { contextOf, newUser, refusal } from './setup.ts'

const decide = (
  w: GoalWorld,
  approval_id: number,
  input: Partial<InputOf<typeof decideApproval>> = {},
  principal = w.s.ann,
  idempotency_key?: string,
) =>
  w.call(
    decideApproval,
    { approval_id, decision: 'approve', ...input },
    { principal, idempotency_key },
  )

const show = (w: GoalWorld, approval_id: number) =>
  w.call(getApproval, { approval_id }, { principal: w.s.ann })

const setGoal = (w: GoalWorld, changes: Partial<GoalRecord>) =>
  putGoal(w.s, w.s.ann, w.coordinator.agent_id, { ...w.goal, ...changes })

t.test('scenario 9: of many approvals at once one decides, and one event tells it', async (t) => {
  const w = await goalWorld(t)
  const { approval_id, proposal_message_id } = await w.propose()
  const tries = await Promise.allSettled([
    ...Array.from({ length: 50 }, () => decide(w, approval_id)),
    w.call(react, { message_id: proposal_message_id, reaction: 'approve' }, { principal: w.s.ann }),
  ])
  const events = await w.events(approvalDecided)
  const refused = tries.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))

  t.equal(events.length, 1)
  t.match(events[0], { decision: 'approved', round: 1, payload: { tree: TREE } })
  t.equal((await show(w, approval_id)).status, 'approved')
  t.ok(refused.length >= 49, `${refused.length} were told that it was decided already`)
  for (const reason of refused) t.match(reason, named('ErrAlreadyDecided'))
  t.match((await w.messages('approvals'))[0], { state: 'approved' })
})

t.test('an approval by reaction is the same decision', async (t) => {
  const w = await goalWorld(t)
  const { approval_id, proposal_message_id: message_id } = await w.propose()
  const by = (principal: typeof w.s.ann | typeof w.coordinator, reaction: 'approve' | 'reject') =>
    w.call(react, { message_id, reaction }, { principal })

  await t.rejects(by(w.coordinator, 'approve'), { code: /forbidden|not_found/ })
  t.equal((await show(w, approval_id)).status, 'pending', 'an agent decides nothing')
  await by(w.s.ann, 'approve')
  t.equal((await show(w, approval_id)).status, 'approved')
  await by(w.s.ann, 'approve')
  await by(w.s.ann, 'reject')
  t.equal((await show(w, approval_id)).status, 'approved', 'later reactions change nothing')
})

t.test(
  'an approval after its expiry is refused, before anything has noticed the expiry',
  async (t) => {
    const w = await goalWorld(t)
    const { approval_id } = await w.propose()
    w.clock.advance(7 * 86_400_000)
    await t.rejects(decide(w, approval_id), { ...named('ErrAlreadyDecided'), message: /expired/ })
    await t.rejects(decide(w, approval_id, { decision: 'reject' }), named('ErrAlreadyDecided'))
  },
)

t.test('an edited tree is recorded as what was approved, with its own digest', async (t) => {
  const w = await goalWorld(t)
  const { approval_id } = await w.propose({ reasoning: 'why' })
  const before = await show(w, approval_id)
  await decide(w, approval_id, {
    digest: before.digest,
    edits: [
      { path: '0', remove: true },
      { path: '1', title: 'child-two' },
    ],
  })
  const after = await show(w, approval_id)
  const approved = {
    tree: { ...TREE, children: [{ title: 'child-two', description: 'what there is to do' }] },
    reasoning: 'why',
  }
  const [event] = await w.events(approvalDecided)

  t.strictSame(after.payload, before.payload, 'what was proposed stays on record')
  t.equal(after.digest, before.digest)
  t.strictSame(after.approved_payload, approved)
  t.equal(after.approved_digest, digestOf(approved))
  t.strictSame(event?.payload, approved)
})

t.test('edits that make no valid tree change nothing', async (t) => {
  const w = await goalWorld(t)
  const { approval_id } = await w.propose()
  for (const edits of [[{ path: '9' }], [{ path: '', remove: true }]]) {
    await t.rejects(decide(w, approval_id, { edits }), { code: 'invalid_argument' })
  }
  await t.rejects(decide(w, approval_id, { decision: 'reject', edits: [] }), {
    code: 'invalid_argument',
  })
  t.match(await show(w, approval_id), { status: 'pending', failure: null })
})

t.test('a decision on another digest is refused', async (t) => {
  const w = await goalWorld(t)
  const { approval_id } = await w.propose()
  await t.rejects(decide(w, approval_id, { digest: 'f'.repeat(64) }), named('ErrDigestMismatch'))
  t.equal((await show(w, approval_id)).status, 'pending')
})

t.test(
  'a goal that was paused meanwhile: the approval fails visibly and stays pending',
  async (t) => {
    const w = await goalWorld(t, { status: 'active' })
    const { approval_id } = await w.propose()
    for (const status of ['paused', 'cancelled', 'stuck', 'completed'] as const) {
      await setGoal(w, { status })
      await t.rejects(decide(w, approval_id), named('ErrGoalNotActive'))
      t.match(await show(w, approval_id), {
        status: 'pending',
        failure: `ErrGoalNotActive: the goal is ${status}`,
        decided_at: null,
      })
    }
    await setGoal(w, { status: 'active' })
    t.match(await decide(w, approval_id), { status: 'approved', failure: null })
  },
)

t.test('a budget that shrank meanwhile is checked again, with the edits', async (t) => {
  const w = await goalWorld(t, { remaining_tokens: 1_000 })
  const { approval_id } = await w.propose({ tree: { ...TREE, budget_tokens: 1_000 } })
  await setGoal(w, { remaining_tokens: 500 })
  await t.rejects(decide(w, approval_id), named('ErrBudgetInsufficient'))
  t.match((await show(w, approval_id)).failure, /ErrBudgetInsufficient/)
  const edits = [{ path: '', budget_tokens: 500 }]
  t.match(await decide(w, approval_id, { edits }), { status: 'approved' })
})

t.test('an agent may not decide, whatever its endpoint is granted', async (t) => {
  const w = await goalWorld(t)
  const { approval_id } = await w.propose()
  const asAgent = w.call(
    decideApproval,
    { approval_id, decision: 'approve' },
    { principal: w.coordinator },
  )
  await t.rejects(asAgent, { code: 'forbidden' })
  // Also without the check at the door.
  const handler = handleDecideApproval(w.s.deps)
  await t.rejects(
    handler(contextOf(w.coordinator), { approval_id, decision: 'approve' }),
    named('ErrNotPermitted'),
  )
  t.equal((await show(w, approval_id)).status, 'pending')
})

t.test("somebody else's approval is as unknown as one that never was", async (t) => {
  const w = await goalWorld(t)
  const { approval_id } = await w.propose()
  const bob = await newUser(w.db, w.clock, 'bob')
  const other = await newAgent(w.s, w.s.ann, { name: 'other' })
  const on = (id: number, principal: typeof bob) => [
    refusal(decide(w, id, {}, principal)),
    refusal(w.call(getApproval, { approval_id: id }, { principal })),
    refusal(w.call(cancelApproval, { approval_id: id }, { principal })),
  ]
  const unknown = await Promise.all(on(999_999, w.s.ann))
  t.strictSame(await Promise.all(on(approval_id, bob)), unknown)
  const byOther = (id: number) => [
    refusal(w.call(getApproval, { approval_id: id }, { principal: other })),
    refusal(w.call(cancelApproval, { approval_id: id }, { principal: other })),
  ]
  t.strictSame(await Promise.all(byOther(approval_id)), unknown.slice(1))
  t.strictSame(await w.call(listApprovals, { limit: 5 }, { principal: bob }), {
    approvals: [],
    waiting_on_you: 0,
  })
})

t.test('a decision repeated under its key answers as it stands', async (t) => {
  const w = await goalWorld(t)
  const { approval_id } = await w.propose()
  const first = await decide(w, approval_id, {}, w.s.ann, 'key')
  t.strictSame(await decide(w, approval_id, {}, w.s.ann, 'key'), first)
  await t.rejects(decide(w, approval_id, { decision: 'reject' }, w.s.ann, 'key'), {
    code: 'idempotency_conflict',
  })
})

t.test(
  'waiting on you is the number of pending rows, for the owner and for each agent',
  async (t) => {
    const w = await goalWorld(t)
    const second = await putGoal(w.s, w.s.ann, w.coordinator.agent_id)
    const other = await newAgent(w.s, w.s.ann, { name: 'other' })
    const third = await putGoal(w.s, w.s.ann, other.agent_id)
    await w.propose()
    await w.propose({ goal_id: second.goal_id })
    const { approval_id } = await w.propose({ goal_id: third.goal_id }, other)
    const pending = (principal: typeof w.s.ann | typeof other) =>
      w.call(listApprovals, { status: 'pending', limit: 50 }, { principal })
    const numbers = async () => {
      const answers = await Promise.all([w.s.ann, w.coordinator, other].map(pending))
      for (const { approvals, waiting_on_you } of answers) t.equal(waiting_on_you, approvals.length)
      return answers.map(({ waiting_on_you }) => waiting_on_you)
    }
    t.strictSame(await numbers(), [3, 2, 1])
    await decide(w, approval_id, { decision: 'reject' })
    t.strictSame(await numbers(), [2, 2, 0])
    const page = await w.call(listApprovals, { limit: 2 }, { principal: w.s.ann })
    t.strictSame([page.approvals.length, page.waiting_on_you], [2, 2])
    const rest = await w.call(
      listApprovals,
      { limit: 2, cursor: page.next_cursor },
      { principal: w.s.ann },
    )
    t.strictSame([rest.approvals.length, rest.waiting_on_you, rest.next_cursor], [1, 2, undefined])
  },
)
