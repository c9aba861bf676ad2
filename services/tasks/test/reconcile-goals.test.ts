import { buckets, cancelGoal, goalKey, taskItemId, taskKey, workKey } from '@guildhall/contracts'
import { transaction } from '@guildhall/db'
import t from 'tap'
import { holdBudgetIn } from '../src/budget.ts'
import { reconcileOnce } from '../src/reconcilers/reconcile.ts'
import { reconcileGoals, releaseOrphanedHolds } from '../src/reconcilers/reconcile-goals.ts'
import { type GoalBundle, node, setupGoals } from './goal-setup.ts'

const purge = async (s: GoalBundle, bucket: string, key: string): Promise<void> => {
  await s.bus.jsm.streams.purge(`KV_${bucket}`, { filter: `$KV.${bucket}.${key}` })
}

const goalWithTask = async (s: GoalBundle) => {
  const { goal_id } = await s.goal({ budget_tokens: 100 })
  const children = [node('task one', { budget_tokens: 40 })]
  const [root, leaf] = await s.tree(goal_id, node('root', { children }))
  await s.tasks.settle()
  return { goal_id, root_id: root?.task_id ?? 0, task_id: leaf?.task_id ?? 0 }
}

t.test('goals, tasks and claim records that were lost come back', async (t) => {
  const s = await setupGoals(t, { own_server: true })
  const { goal_id, root_id, task_id } = await goalWithTask(s)
  await s.projected()
  t.match(await reconcileOnce(s.tasks), {
    goals_projected: 0,
    claim_records_restored: 0,
    records_restored: 0,
    messages_restored: 0,
    without_payload: 0,
  })
  const before = await s.goalEntry(goal_id)
  await purge(s, buckets.goals, goalKey(s.owner_id, goal_id))
  await purge(s, buckets.goals, taskKey(s.owner_id, root_id))
  await purge(s, buckets.work, workKey(s.owner_id, taskItemId(task_id)))
  t.match(await reconcileGoals(s.tasks), { goals_projected: 2, claim_records_restored: 1 })
  t.strictSame(await s.goalEntry(goal_id), before)
  t.match(await s.taskEntry(root_id), { title: 'root', status: 'approved' })
  t.match((await s.tasks.records.loadFresh(s.owner_id, taskItemId(task_id)))?.value, {
    state: 'pending',
    task: { task_id, goal_id },
  })
  t.match(await reconcileGoals(s.tasks), { goals_projected: 0, claim_records_restored: 0 })
})

t.test('a claim record that outlived its cancelled goal is ended', async (t) => {
  const s = await setupGoals(t, { own_server: true })
  const { goal_id, task_id } = await goalWithTask(s)
  const id = taskItemId(task_id)
  const pending = await s.tasks.records.loadFresh(s.owner_id, id)
  await s.human.call(cancelGoal, { goal_id })
  const ended = await s.tasks.records.loadFresh(s.owner_id, id)
  if (pending === undefined || ended === undefined) throw new Error('no claim record')
  // As after the bucket was restored from a backup.
  await s.tasks.records.replace(pending.value, ended.revision)
  t.match(await reconcileGoals(s.tasks), { claim_records_cancelled: 1 })
  t.match((await s.tasks.records.loadFresh(s.owner_id, id))?.value, { state: 'failed' })
})

t.test('a hold without a claim comes back after a minute, one with a claim stays', async (t) => {
  const s = await setupGoals(t, { own_server: true })
  const { goal_id, task_id } = await goalWithTask(s)
  const id = taskItemId(task_id)
  const hold = (claim_key_hash: string) =>
    transaction(s.db, (trx) =>
      holdBudgetIn(
        trx,
        { owner_user_id: s.owner_id, task_id, claim_seq: 1, claim_key_hash },
        new Date(s.clock.now()),
      ),
    )
  await hold('winner')
  await hold('died')
  const entry = await s.tasks.records.loadFresh(s.owner_id, id)
  if (entry === undefined) throw new Error('no claim record')
  const claimed = {
    ...entry.value,
    state: 'claimed' as const,
    attempts_total: 1,
    claim_key_hash: 'winner',
  }
  const revision = await s.tasks.records.replace(claimed, entry.revision)
  t.equal(await releaseOrphanedHolds(s.tasks), 0, 'a claim may still be on its way')
  s.clock.advance(61_000)
  t.equal(await releaseOrphanedHolds(s.tasks), 1)
  t.match((await s.show(goal_id)).goal, { held_tokens: 40 })
  await s.tasks.records.replace({ ...claimed, state: 'pending' }, revision ?? 0)
  t.equal(await releaseOrphanedHolds(s.tasks), 1)
  t.match((await s.show(goal_id)).goal, { held_tokens: 0 })
  await s.tasks.settle()
  t.match(await s.goalEntry(goal_id), { remaining_tokens: 100 })
})
