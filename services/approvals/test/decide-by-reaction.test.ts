import {
  decideApproval,
  type GoalRecord,
  getApproval,
  type Principal,
  proposeTaskTree,
  type Reaction,
  react,
  readChannel,
  type TreeSettled,
  treeSettled,
} from '@guildhall/contracts'
import { waitFor } from '@guildhall/testing'
import t, { type Test } from 'tap'
import {
  bodies,
  type ChannelSetup,
  channelSetup,
  emit,
  goalRecord,
  putGoal,
} from './channel-setup.ts'
import { newUser, refusal, tableRows } from './setup.ts'

/** Ids differ between tests: they share one bus. */
let last_goal_id = Math.floor(Date.now() / 1_000)

const tree = {
  title: 'Keep the docs accurate',
  description: 'All of it, every week.',
  children: [{ title: 'Scan the docs', description: 'Find what is out of date.' }],
}

const propose = (s: ChannelSetup, goal: GoalRecord) =>
  s.call(proposeTaskTree, { goal_id: goal.goal_id, tree }, { principal: s.scout })

/** A goal that scout coordinates, and scout's proposal for it. */
const proposed = async (t: Test) => {
  const s = await channelSetup(t)
  last_goal_id += 1
  const goal = goalRecord(s.ann.user_id, last_goal_id, s.scout.agent_id)
  await putGoal(s, goal)
  const { approval_id, proposal_message_id } = await propose(s, goal)
  const by = (principal: Principal, reaction: Reaction, reason?: string) =>
    s.call(
      react,
      {
        message_id: proposal_message_id,
        reaction,
        ...(reason === undefined ? {} : { metadata: { reason } }),
      },
      { principal },
    )
  const approval = () => s.call(getApproval, { approval_id }, { principal: s.ann })
  return { ...s, goal, approval_id, message_id: proposal_message_id, by, approval }
}

type Proposed = Awaited<ReturnType<typeof proposed>>

const decisions = (s: Proposed) =>
  tableRows(
    s.db,
    `select action from audit_log where object = 'approval:${s.approval_id}'
       and action <> 'approval.requested' order by seq`,
  )

t.test('S5 the owner approves by a reaction, once', async (t) => {
  const s = await proposed(t)
  t.match(await s.approval(), { status: 'pending' })
  const first = await s.by(s.ann, 'approve')
  const again = await s.by(s.ann, 'approve')
  const too_late = await s.by(s.ann, 'reject')

  t.match(first, { action: 'added', workflow_state: 'approved' })
  t.strictSame(again, { ...first, action: 'unchanged' })
  t.strictSame(too_late, { ...first, action: 'unchanged', reaction: 'reject' })
  t.match(await s.approval(), { status: 'approved', decided_by_user_id: s.ann.user_id })
  t.strictSame(await decisions(s), [{ action: 'approval.approved' }])
  const { messages } = await s.call(
    readChannel,
    { channel: 'approvals', state: 'approved' },
    { principal: s.ann },
  )
  t.match(messages, [{ message_id: s.message_id, approval_id: s.approval_id }])
})

t.test('S6 a rejection by a reaction tells its reason to whoever asked', async (t) => {
  const s = await proposed(t)
  t.match(await s.by(s.ann, 'reject', 'too broad'), {
    action: 'added',
    workflow_state: 'rejected',
  })
  const dm = `dm-${s.scout.agent_id}`
  const { messages } = await s.call(readChannel, { channel: dm }, { principal: s.scout })

  t.match(await s.approval(), { status: 'rejected', reason: 'too broad' })
  t.equal(messages.length, 1)
  t.match(bodies(messages)[0], /too broad/)
  t.match(await s.by(s.ann, 'approve'), { action: 'unchanged', workflow_state: 'rejected' })
  const next = await propose(s, s.goal)
  t.not(next.approval_id, s.approval_id, 'a new proposal is accepted')
})

t.test('S9 the word of an agent decides nothing', async (t) => {
  const s = await proposed(t)
  for (const agent of [s.scout, s.clerk]) {
    for (const reaction of ['approve', 'reject'] as const) {
      t.match(await refusal(s.by(agent, reaction)), {
        code: 'forbidden',
        details: { error: 'ErrNotPermitted' },
      })
    }
  }
  const bob = await newUser(s.db, s.clock, 'bob')
  t.match(await refusal(s.by(bob, 'approve')), { code: 'not_found' })

  t.match(await s.approval(), { status: 'pending' })
  t.strictSame(await tableRows(s.db, 'select * from reactions'), [])
  const refused = await tableRows(
    s.db,
    `select actor from audit_log where action = 'react.refused' and user_id = ${s.ann.user_id}`,
  )
  t.equal(refused.length, 4, 'each try is on record')
})

t.test('other reactions to a proposal decide nothing either', async (t) => {
  const s = await proposed(t)
  t.match(await s.by(s.ann, 'in_progress'), { action: 'added', workflow_state: 'in_progress' })
  t.match(await s.by(s.ann, 'done'), { action: 'added' })
  t.match(await s.by(s.ann, 'done'), { action: 'removed' })
  t.match(await s.approval(), { status: 'pending' })
})

t.test('S9 of many decisions at the same time, one is taken', async (t) => {
  const s = await proposed(t)
  const { approval_id } = s
  const reactions: Reaction[] = ['approve', 'reject', 'approve', 'reject']
  const [rest, ...answers] = await Promise.all([
    s
      .call(decideApproval, { approval_id, decision: 'reject' }, { principal: s.ann })
      .then(() => 'added')
      .catch(({ details }) => details.error),
    ...reactions.map(async (reaction) => (await s.by(s.ann, reaction)).action),
  ])

  const outcomes = [rest === 'ErrAlreadyDecided' ? 'unchanged' : rest, ...answers].sort()
  t.strictSame(outcomes, ['added', 'unchanged', 'unchanged', 'unchanged', 'unchanged'])
  const { status } = await s.approval()
  t.strictSame(await decisions(s), [{ action: `approval.${status}` }])
  const shown = await tableRows(s.db, 'select reaction, member from reactions')
  const reaction = status === 'approved' ? 'approve' : 'reject'
  t.strictSame(shown, [{ reaction, member: `human:${s.ann.user_id}` }])
})

t.test('a decision by another door shows as a reaction', async (t) => {
  const s = await proposed(t)
  const { approval_id } = s
  await s.call(decideApproval, { approval_id, decision: 'approve' }, { principal: s.ann })
  const { messages } = await s.call(readChannel, { channel: 'approvals' }, { principal: s.ann })

  const [message] = messages
  t.match(message, { state: 'approved', reactions: [{ reaction: 'approve' }] })
  t.match(await s.by(s.ann, 'reject'), { action: 'unchanged', workflow_state: 'approved' })
})

t.test('an approval that cannot be carried out says so, and stays to be decided', async (t) => {
  const s = await proposed(t)
  await putGoal(s, { ...s.goal, status: 'paused' })
  t.match(await refusal(s.by(s.ann, 'approve')), { details: { error: 'ErrGoalNotActive' } })
  t.match(await s.approval(), { status: 'pending', failure: /ErrGoalNotActive/ })
  t.strictSame(await tableRows(s.db, 'select * from reactions'), [])

  await putGoal(s, { ...s.goal, status: 'active' })
  t.match(await s.by(s.ann, 'approve'), { action: 'added', workflow_state: 'approved' })
})

t.test('an approval that failed later is withdrawn, and can be given again', async (t) => {
  const s = await proposed(t)
  const keyed = () =>
    s.call(
      react,
      { message_id: s.message_id, reaction: 'approve' },
      { principal: s.ann, idempotency_key: 'key-1' },
    )
  t.match(await keyed(), { action: 'added' })
  const settled: TreeSettled = {
    v: 1,
    user_id: s.ann.user_id,
    approval_id: s.approval_id,
    round: 1,
    goal_id: s.goal.goal_id,
    outcome: 'refused',
    task_ids: [],
    error: 'ErrBudgetInsufficient',
    message: 'the tree no longer fits',
    at: s.clock.now(),
  }
  await emit(s, treeSettled.subject, settled, `settled-${s.goal.goal_id}`)
  await waitFor(async () => (await s.approval()).status === 'pending', {
    what: 'the approval to be pending again',
  })

  t.strictSame(await tableRows(s.db, 'select * from reactions'), [])
  t.match(await keyed(), { action: 'unchanged' }, 'a late repeat is not a second approval')
  t.match(await s.approval(), { status: 'pending' })
  t.match(await s.by(s.ann, 'approve'), { action: 'added', workflow_state: 'approved' })
  t.match(await s.approval(), { status: 'approved' })
})
