import { waitFor } from '@guildhall/testing'
import t from 'tap'
import { tableRows } from './rows.ts'
import { DAY_MS, earnMany, near, newId, refusal, said, setup } from './setup.ts'

t.test('scenario 31: a row that takes the score below 0.3 quarantines, and says so', async (t) => {
  const s = await setup(t)
  const agent_id = await s.agent({ config_hash: 'h' })
  await s.earn({ agent_id, config_hash: 'h', kind: 'verified_auto' })
  await earnMany(s, 2, { agent_id, config_hash: 'h', kind: 'rejected' })
  await s.processed()
  near(t, (await s.reputation(agent_id)).rolling_score, 1.7 / 5)
  t.equal(await s.standing(agent_id), undefined, 'in good standing')
  await s.earn({ agent_id, config_hash: 'h', kind: 'rejected' })
  const standing = await waitFor(() => s.standing(agent_id), {
    what: 'the standing on the bus',
    timeout_ms: 1_000,
  })

  t.strictSame(standing, {
    v: 1,
    version: 1,
    agent_id,
    user_id: s.user_id,
    quarantined: true,
    reason: 'reputation=0.28 domain=default',
    since: s.clock.now(),
  })
  await s.processed()
  t.equal((await s.reputation(agent_id)).quarantined, true)
  // One about the agent and one to the owner, in whichever order they went out.
  const [notice, changed, ...more] = (await said(s)).toSorted(
    (a, b) => Number('quarantined' in a) - Number('quarantined' in b),
  )
  t.strictSame(changed, {
    v: 1,
    user_id: s.user_id,
    agent_id,
    quarantined: true,
    reason: 'reputation=0.28 domain=default',
    by_user_id: null,
    at: s.clock.now(),
  })
  t.match(notice, { to: { kind: 'owner' }, metadata: { agent_ids: [agent_id], domain: 'default' } })
  t.match(notice?.body, new RegExp(`agent-${agent_id}.*0\\.28`))
  t.strictSame(more, [])
})

t.test('scenario 31: work that was running is still counted, and says nothing new', async (t) => {
  const s = await setup(t)
  const agent_id = await s.agent({ config_hash: 'h' })
  await earnMany(s, 3, { agent_id, config_hash: 'h', kind: 'rejected' })
  await s.processed()
  await s.earn({ agent_id, config_hash: 'h', kind: 'verified_peer' })
  await s.earn({ agent_id, config_hash: 'h', kind: 'rejected' })
  await s.processed()

  const { evidence_count, quarantined } = await s.reputation(agent_id)
  t.strictSame({ evidence_count, quarantined }, { evidence_count: 5, quarantined: true })
  t.equal((await said(s)).length, 2, 'one change, one notice')
  t.equal((await s.standing(agent_id))?.version, 1)
})

t.test('scenario 31: the owner lifts it, and the reputation stays what it was', async (t) => {
  const s = await setup(t)
  const agent_id = await s.agent({ config_hash: 'h' })
  await earnMany(s, 3, { agent_id, config_hash: 'h', kind: 'rejected' })
  await s.processed()
  const before = await s.reputation(agent_id)
  t.strictSame(await s.unquarantine(agent_id), { agent_id, status: 'active' })

  t.strictSame(await s.reputation(agent_id), { ...before, quarantined: false })
  t.match(await s.standing(agent_id), { quarantined: false, reason: null, version: 2 })
  t.match((await said(s)).at(-1), { agent_id, quarantined: false, by_user_id: s.user_id })
  const told = (await said(s)).length
  t.strictSame(await s.unquarantine(agent_id), { agent_id, status: 'active' })
  t.equal((await s.standing(agent_id))?.version, 2, 'a repeat changes nothing')
  t.equal((await said(s)).length, told)
})

t.test('once lifted, only evidence against the agent quarantines it again', async (t) => {
  const s = await setup(t)
  const agent_id = await s.agent({ config_hash: 'h' })
  await earnMany(s, 6, { agent_id, config_hash: 'h', kind: 'rejected' })
  await s.processed()
  await s.unquarantine(agent_id)
  await s.earn({ agent_id, config_hash: 'h', kind: 'verified_auto' })
  await s.agent({ agent_id, config_hash: 'h', change: 'edited', version: 2 })
  await s.processed()
  const after_success = await s.standing(agent_id)
  await s.earn({ agent_id, config_hash: 'h', kind: 'lapsed' })
  await s.processed()

  t.match(after_success, { quarantined: false, version: 2 })
  t.match(await s.standing(agent_id), { quarantined: true, version: 3 })
})

t.test('scenario 32: no evidence is no reason, nor are sixty idle days', async (t) => {
  const s = await setup(t)
  const fresh = await s.agent({ config_hash: 'fresh' })
  const idle = await s.agent({ config_hash: 'idle' })
  await earnMany(s, 2, { agent_id: idle, config_hash: 'idle', kind: 'rejected' })
  await s.processed()
  const before = (await s.reputation(idle)).rolling_score
  s.clock.advance(60 * DAY_MS)
  const after = (await s.reputation(idle)).rolling_score
  await s.agent({ agent_id: idle, config_hash: 'idle', change: 'edited', version: 2 })
  await s.agent({ agent_id: fresh, config_hash: 'fresh', change: 'edited', version: 2 })
  await s.processed()

  near(t, before, 0.25)
  near(t, after, 1 / 2.5, 'idle time heals')
  for (const agent_id of [fresh, idle]) t.equal(await s.standing(agent_id), undefined)
  t.equal((await s.reputation(fresh)).evidence_count, 0)
})

t.test('every active agent of the configuration, in any domain, and no other', async (t) => {
  const s = await setup(t)
  const worker = await s.agent({ config_hash: 'h' })
  const twin = await s.agent({ config_hash: 'h' })
  const gone = await s.agent({ config_hash: 'h', status: 'inactive', change: 'deactivated' })
  const other = await s.agent({ config_hash: 'other' })
  const stranger = await s.agent({ config_hash: 'h', user_id: newId() })
  await s.processed()
  await earnMany(s, 9, { agent_id: worker, config_hash: 'h', kind: 'verified_peer', domain: 'a' })
  await earnMany(s, 3, { agent_id: worker, config_hash: 'h', kind: 'timed_out', domain: 'b' })
  await s.processed()

  for (const agent_id of [worker, twin]) {
    t.match(await s.standing(agent_id), { quarantined: true, reason: /domain=b$/ })
  }
  for (const agent_id of [gone, other, stranger]) t.equal(await s.standing(agent_id), undefined)
  const notices = (await said(s)).filter(({ to }) => to !== undefined)
  t.match(notices, [{ metadata: { agent_ids: [worker, twin], domain: 'b' } }])
  t.equal(notices.length, 1)
})

t.test('a new agent does not wash the record of a quarantined configuration', async (t) => {
  const s = await setup(t)
  const first = await s.agent({ config_hash: 'bad' })
  await earnMany(s, 4, { agent_id: first, config_hash: 'bad', kind: 'rejected' })
  const edited = await s.agent({ config_hash: 'good' })
  await s.processed()
  await s.agent({
    agent_id: edited,
    config_hash: 'bad',
    change: 'edited',
    version: 2,
    seed: { from_config_hash: 'good', domain: 'default' },
  })
  const spawned = await s.agent({
    config_hash: 'bad',
    change: 'spawned',
    seed: { from_config_hash: 'good', domain: 'default' },
  })
  await s.processed()

  for (const agent_id of [edited, spawned])
    t.match(await s.standing(agent_id), { quarantined: true })
})

t.test(
  'evidence that comes before the news of the agent quarantines it all the same',
  async (t) => {
    const s = await setup(t)
    const agent_id = newId()
    await earnMany(s, 3, { agent_id, config_hash: 'h', kind: 'rejected' })
    await s.processed()
    t.equal(await s.standing(agent_id), undefined)
    await s.agent({ agent_id, config_hash: 'h' })
    await s.processed()

    t.match(await s.standing(agent_id), { quarantined: true })
  },
)

t.test('somebody else’s agent is an unknown one, for both operations', async (t) => {
  const s = await setup(t)
  const agent_id = await s.agent({ config_hash: 'h' })
  await earnMany(s, 3, { agent_id, config_hash: 'h', kind: 'rejected' })
  await s.processed()
  const bob = { kind: 'human', user_id: newId() } as const
  const foreign = [s.reputation(agent_id, 'default', bob), s.unquarantine(agent_id, bob)]
  const unknown = [s.reputation(newId()), s.unquarantine(newId())]
  const answers = await Promise.all([...foreign, ...unknown].map(refusal))

  for (const answer of answers) t.strictSame(answer, answers[0])
  t.match(answers[0], { code: 'not_found', message: 'there is no such agent' })
  t.match(await s.standing(agent_id), { quarantined: true, version: 1 })
})

t.test('an agent can look, and cannot lift', async (t) => {
  const s = await setup(t)
  const agent_id = await s.agent({ config_hash: 'h' })
  await earnMany(s, 3, { agent_id, config_hash: 'h', kind: 'rejected' })
  await s.processed()
  const { unquarantineAgent, getReputation, newEndpointId } = await import('@guildhall/contracts')
  const principal = {
    kind: 'agent',
    user_id: s.user_id,
    agent_id,
    agent_name: 'agent',
    endpoint_id: newEndpointId(s.clock.now()),
    scope: {
      tools: ['get_reputation', 'unquarantine_agent'],
      queues: [],
      webhook_max: 0,
      webhook_source_types: [],
      webhook_queues: [],
      require_fence: false,
    },
  } as const
  const lifted = await refusal(
    s.call(unquarantineAgent, { agent_id }, { principal: structuredClone(principal) as never }),
  )
  const seen = await s.call(
    getReputation,
    { agent_id },
    { principal: structuredClone(principal) as never },
  )

  t.match(lifted, { code: 'forbidden' })
  t.match(seen, { agent_id, quarantined: true, evidence_count: 3 })
  t.match(await s.standing(agent_id), { quarantined: true })
})

t.test('a standing is one row, whatever happens to it', async (t) => {
  const s = await setup(t)
  const agent_id = await s.agent({ config_hash: 'h' })
  await earnMany(s, 3, { agent_id, config_hash: 'h', kind: 'rejected' })
  await s.processed()
  await Promise.all(Array.from({ length: 10 }, () => s.unquarantine(agent_id)))

  t.match(await s.standing(agent_id), { quarantined: false, version: 2 })
  t.equal((await tableRows(s.db, 'select * from standing')).length, 1)
  t.equal((await said(s)).length, 3)
})
