import { createKv, publish } from '@guildhall/bus'
import {
  AgentRecord,
  agentKey,
  buckets,
  decideApproval,
  getAgent,
  getApproval,
  type StandingChanged,
  standingChanged,
  type TreeSettled,
  treeSettled,
} from '@guildhall/contracts'
import { waitFor } from '@guildhall/testing'
import t, { type Test } from 'tap'
import { type GoalWorld, goalWorld } from './goal-world.ts'

const approved = async (t: Test) => {
  const w = await goalWorld(t)
  const { approval_id } = await w.propose()
  await approve(w, approval_id)
  return { ...w, approval_id }
}

const approve = (w: GoalWorld, approval_id: number) =>
  w.call(decideApproval, { approval_id, decision: 'approve' }, { principal: w.s.ann })

const show = (w: GoalWorld, approval_id: number) =>
  w.call(getApproval, { approval_id }, { principal: w.s.ann })

const settle = (w: GoalWorld & { approval_id: number }, changes: Partial<TreeSettled> = {}) =>
  publish(w.bus, treeSettled.subject, {
    v: 1,
    user_id: w.s.ann.user_id,
    approval_id: w.approval_id,
    round: 1,
    goal_id: w.goal.goal_id,
    outcome: 'materialised',
    task_ids: [1, 2, 3, 4],
    error: null,
    message: null,
    at: w.clock.now(),
    ...changes,
  } satisfies TreeSettled)

const REFUSED: Partial<TreeSettled> = {
  outcome: 'refused',
  task_ids: [],
  error: 'ErrAncestryOverflow',
  message: 'the ancestry is too long',
}

const until = (w: GoalWorld, approval_id: number, status: string) =>
  waitFor(
    async () => {
      const approval = await show(w, approval_id)
      return approval.status === status && approval
    },
    { what: `the approval to be ${status}` },
  )

/** All events before it have taken effect: they are handled in their order. */
const caughtUp = async (w: GoalWorld, durable: string) => {
  await waitFor(
    async () => {
      const { num_pending, num_ack_pending } = await w.bus.jsm.consumers.info('EVENTS', durable)
      return num_pending === 0 && num_ack_pending === 0
    },
    { what: `${durable} to have caught up` },
  )
}

t.test('a tree that was carried out makes its approval executed, once', async (t) => {
  const w = await approved(t)
  await settle(w)
  await settle(w)
  await settle(w, REFUSED)
  t.match(await until(w, w.approval_id, 'executed'), { effect: { task_ids: [1, 2, 3, 4] } })
  await caughtUp(w, 'approvals-trees')
  t.match(await show(w, w.approval_id), { status: 'executed', failure: null })
  t.equal((await w.messages(`dm-${w.coordinator.agent_id}`)).length, 1, 'told once')
})

t.test(
  'a tree that was refused is pending again, says why, and can be approved again',
  async (t) => {
    const w = await approved(t)
    w.clock.advance(6 * 86_400_000)
    await settle(w, REFUSED)
    const pending = await until(w, w.approval_id, 'pending')
    t.match(pending, {
      failure: 'ErrAncestryOverflow: the ancestry is too long',
      decided_at: null,
      expires_at: new Date(w.clock.now() + 7 * 86_400_000).toISOString(),
    })
    const [said, proposal] = await w.messages('approvals')
    t.match(said, { kind: 'system', reply_to: pending.message_id, body: /ErrAncestryOverflow/ })
    t.equal(proposal?.state, 'proposed', 'the reaction of the approval is gone')
    await approve(w, w.approval_id)
    // What is said of the first round comes too late.
    await settle(w, REFUSED)
    await settle(w)
    await caughtUp(w, 'approvals-trees')
    t.equal((await show(w, w.approval_id)).status, 'approved')
    await settle(w, { round: 2 })
    await until(w, w.approval_id, 'executed')
  },
)

t.test("another owner's event changes nothing", async (t) => {
  const w = await approved(t)
  await settle(w, { user_id: w.s.ann.user_id + 1 })
  await caughtUp(w, 'approvals-trees')
  t.equal((await show(w, w.approval_id)).status, 'approved')
})

const standing = (w: GoalWorld, changes: Partial<StandingChanged>) =>
  publish(w.bus, standingChanged.subject, {
    v: 1,
    user_id: w.s.ann.user_id,
    agent_id: w.coordinator.agent_id,
    quarantined: true,
    reason: 'reputation=0.29',
    by_user_id: null,
    at: w.clock.now(),
    ...changes,
  } satisfies StandingChanged)

const agent = (w: GoalWorld) =>
  w.call(getAgent, { agent_id: w.coordinator.agent_id }, { principal: w.s.ann })

t.test(
  'scenarios 31 and 32: quarantine comes from its event alone, and the owner is told',
  async (t) => {
    const w = await goalWorld(t)
    t.equal((await agent(w)).quarantined_at, null, 'a new agent is in good standing')
    const { version } = await agent(w)
    await standing(w, {})
    await caughtUp(w, 'approvals-standing')
    t.match(await agent(w), {
      quarantined_at: new Date(w.clock.now()).toISOString(),
      quarantine_reason: 'reputation=0.29',
      status: 'active',
      version: version + 1,
    })
    t.match((await w.messages('inbox'))[0]?.body, /planner is in quarantine.*reputation=0\.29/)
    await w.s.deps.settle()
    const agents = createKv(w.bus, buckets.agents, AgentRecord)
    const entry = await agents.get(agentKey(w.s.ann.user_id, w.coordinator.agent_id))
    t.equal(entry?.value.version, version + 1)
  },
)

t.test('what was said of an agent before does not undo what was said last', async (t) => {
  const w = await goalWorld(t)
  const at = w.clock.now()
  await standing(w, { at: at + 2, quarantined: false, reason: null, by_user_id: w.s.ann.user_id })
  await standing(w, { at: at + 1 })
  await caughtUp(w, 'approvals-standing')
  t.match(await agent(w), { quarantined_at: null, quarantine_reason: null })
  t.equal((await w.messages('inbox')).length, 1)
})
