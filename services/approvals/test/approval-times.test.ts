import { approvalDecided, getApproval, listApprovals } from '@guildhall/contracts'
import t from 'tap'
import { expireApprovals } from '../src/reconcilers/expire-approvals.ts'
import { remindOwners } from '../src/reconcilers/remind-owners.ts'
import { type GoalWorld, goalWorld, putGoal } from './goal-world.ts'

const HOUR_MS = 3_600_000

const show = (w: GoalWorld, approval_id: number) =>
  w.call(getApproval, { approval_id }, { principal: w.s.ann })

t.test(
  'nobody decided: it expires, which is no rejection, and whoever asked is told',
  async (t) => {
    const w = await goalWorld(t)
    const { approval_id } = await w.propose()
    w.clock.advance(7 * 24 * HOUR_MS - 1)
    await expireApprovals(w.db, w.clock)
    t.equal((await show(w, approval_id)).status, 'pending')
    w.clock.advance(1)
    await Promise.all([1, 2, 3].map(() => expireApprovals(w.db, w.clock)))
    t.match(await show(w, approval_id), { status: 'expired', decided_by_user_id: null })
    const events = await w.events(approvalDecided)
    t.match(events, [{ approval_id, decision: 'expired' }])
    t.equal(events.length, 1)
    const told = await w.messages(`dm-${w.coordinator.agent_id}`)
    t.equal(told.length, 1)
    t.match(told[0]?.body, /expired/)
    const { waiting_on_you } = await w.call(listApprovals, { limit: 1 }, { principal: w.s.ann })
    t.equal(waiting_on_you, 0)
    await t.resolves(w.propose(), 'the agent may ask again')
  },
)

t.test('the owner is reminded after 4 and after 48 hours, each once', async (t) => {
  const w = await goalWorld(t)
  await w.propose()
  const reminders = async () => {
    await Promise.all([remindOwners(w.db, w.clock), remindOwners(w.db, w.clock)])
    return (await w.messages('inbox')).length
  }
  w.clock.advance(4 * HOUR_MS - 1)
  t.equal(await reminders(), 0)
  w.clock.advance(1)
  t.equal(await reminders(), 1)
  w.clock.advance(40 * HOUR_MS)
  t.equal(await reminders(), 1)
  w.clock.advance(4 * HOUR_MS)
  t.equal(await reminders(), 2)
  w.clock.advance(24 * HOUR_MS)
  t.equal(await reminders(), 2)
})

t.test('after an outage over which both came due, one reminder says it', async (t) => {
  const w = await goalWorld(t)
  await w.propose()
  const decided = await putGoal(w.s, w.s.ann, w.coordinator.agent_id)
  await w.propose({ goal_id: decided.goal_id })
  w.clock.advance(50 * HOUR_MS)
  await remindOwners(w.db, w.clock)
  await remindOwners(w.db, w.clock)
  t.equal((await w.messages('inbox')).length, 2, 'one for each approval')
})
