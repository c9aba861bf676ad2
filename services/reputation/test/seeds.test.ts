import t, { type Test } from 'tap'
import { tableRows } from './rows.ts'
import { earnMany, near, type Setup, setup } from './setup.ts'

/** 0.8 in docs after 3 approvals: (2 x 0.5 + 3) / 5. */
const parentAt80 = async (t: Test, s: Setup, config_hash = 'parent'): Promise<number> => {
  const agent_id = await s.agent({ config_hash })
  await s.processed()
  await earnMany(s, 3, { agent_id, config_hash, kind: 'verified_peer', domain: 'docs' })
  await s.processed()
  near(t, (await s.reputation(agent_id, 'docs')).rolling_score, 0.8, 'the parent')
  return agent_id
}

const spawn = (s: Setup, config_hash: string, from_config_hash = 'parent', domain = 'docs') =>
  s.agent({ config_hash, change: 'spawned', seed: { from_config_hash, domain } })

const sound = async (t: Test, s: Setup) => t.equal((await s.recomputed()).differences, 0)

t.test('scenario 11: a child of a parent at 0.8 starts at 0.56, with one row', async (t) => {
  const s = await setup(t)
  await parentAt80(t, s)
  const child = await spawn(s, 'child')
  await s.processed()
  const docs = await s.reputation(child, 'docs')

  near(t, docs.rolling_score, 0.56)
  t.equal(docs.evidence_count, 1)
  t.equal(docs.last_evidence_at, null)
  const seeds = await tableRows(s.db, 'select domain, from_config_hash from seeds order by domain')
  t.strictSame(seeds, [
    { domain: '*', from_config_hash: 'parent' },
    { domain: 'default', from_config_hash: 'parent' },
    { domain: 'docs', from_config_hash: 'parent' },
  ])
  await sound(t, s)
})

t.test('scenario 11: a child of a parent without evidence starts at 0.35', async (t) => {
  const s = await setup(t)
  await s.agent({ config_hash: 'parent' })
  const child = await spawn(s, 'child')
  await s.processed()

  for (const domain of ['docs', 'default', 'neverheardof']) {
    near(t, (await s.reputation(child, domain)).rolling_score, 0.35, domain)
  }
  t.equal((await s.reputation(child, 'neverheardof')).evidence_count, 0)
})

t.test('a grandchild reads 70 % of a child that is itself unproven', async (t) => {
  const s = await setup(t)
  await parentAt80(t, s)
  await spawn(s, 'child')
  const grandchild = await spawn(s, 'grandchild', 'child', 'other')
  await s.processed()

  near(t, (await s.reputation(grandchild, 'docs')).rolling_score, 0.8 * 0.49, 'docs')
  near(t, (await s.reputation(grandchild, 'other')).rolling_score, 0.5 * 0.49, 'other')
  await sound(t, s)
})

t.test('scenario 17: an edited agent starts at 70 % of what it was', async (t) => {
  const s = await setup(t)
  const agent_id = await parentAt80(t, s, 'before')
  await s.agent({
    agent_id,
    config_hash: 'after',
    change: 'edited',
    version: 2,
    seed: { from_config_hash: 'before', domain: 'default' },
  })
  await s.processed()
  const after = await s.reputation(agent_id, 'docs')

  t.equal(after.config_hash, 'after')
  near(t, after.rolling_score, 0.56)
  await sound(t, s)
})

t.test('scenario 17: evidence of a run in flight lands on the old configuration', async (t) => {
  const s = await setup(t)
  const agent_id = await parentAt80(t, s, 'before')
  const observer = await s.agent({ config_hash: 'before' })
  await s.agent({
    agent_id,
    config_hash: 'after',
    change: 'edited',
    version: 2,
    seed: { from_config_hash: 'before', domain: 'docs' },
  })
  await s.processed()
  await s.earn({ agent_id, config_hash: 'before', kind: 'rejected', domain: 'docs' })
  await s.processed()

  near(t, (await s.reputation(agent_id, 'docs')).rolling_score, 0.56, 'the new one')
  near(t, (await s.reputation(observer, 'docs')).rolling_score, 4 / 6, 'the old one')
  await sound(t, s)
})

t.test('going back and forth between two configurations adds and sheds nothing', async (t) => {
  const s = await setup(t)
  const agent_id = await parentAt80(t, s, 'one')
  const edit = (config_hash: string, from_config_hash: string, version: number) =>
    s.agent({
      agent_id,
      config_hash,
      version,
      change: 'edited',
      seed: { from_config_hash, domain: 'docs' },
    })
  for (let version = 2; version < 8; version += 2) {
    await edit('two', 'one', version)
    await edit('one', 'two', version + 1)
    await s.processed()
    near(t, (await s.reputation(agent_id, 'docs')).rolling_score, 0.8, `version ${version + 1}`)
  }
  await edit('two', 'one', 8)
  await s.processed()
  near(t, (await s.reputation(agent_id, 'docs')).rolling_score, 0.56, 'two')
  near(t, (await s.reputation(agent_id)).rolling_score, 0.35, 'two, by default')
})

t.test('a second child of the same configuration is not seeded again', async (t) => {
  const s = await setup(t)
  const parent = await parentAt80(t, s)
  const first = await spawn(s, 'child')
  await s.processed()
  await s.earn({ agent_id: first, config_hash: 'child', kind: 'rejected', domain: 'docs' })
  await earnMany(s, 5, {
    agent_id: parent,
    config_hash: 'parent',
    kind: 'verified_peer',
    domain: 'docs',
  })
  await s.processed()
  const second = await spawn(s, 'child')
  await s.processed()

  near(t, (await s.reputation(second, 'docs')).rolling_score, (2 * 0.56) / 3)
  await sound(t, s)
})

t.test('a child with the configuration of its parent is the same to us', async (t) => {
  const s = await setup(t)
  await parentAt80(t, s)
  const twin = await spawn(s, 'parent')
  await s.processed()

  near(t, (await s.reputation(twin, 'docs')).rolling_score, 0.8)
})

t.test('an event that comes again, or in another order, seeds once', async (t) => {
  const s = await setup(t)
  await parentAt80(t, s)
  const seed = { from_config_hash: 'parent', domain: 'docs' }
  const child = await s.agent({ config_hash: 'child', change: 'spawned', seed, version: 3 })
  await s.processed()
  await s.agent({ agent_id: child, config_hash: 'old', version: 2 })
  await s.agent({ agent_id: child, config_hash: 'child', change: 'spawned', seed, version: 3 })
  await s.processed()

  const { config_hash, rolling_score } = await s.reputation(child, 'docs')
  t.equal(config_hash, 'child', 'an older version changes nothing')
  near(t, rolling_score, 0.56)
})

t.test('evidence that overtakes the news of a new agent costs it no seed', async (t) => {
  const s = await setup(t)
  await parentAt80(t, s)
  const seed = { from_config_hash: 'parent', domain: 'docs' }
  const spawned_at = s.clock.now()
  s.clock.advance(60_000)
  await s.earn({ agent_id: 9_001, config_hash: 'child', kind: 'verified_peer', domain: 'docs' })
  await s.earn({ agent_id: 9_001, config_hash: 'child', kind: 'rejected', domain: 'other' })
  await s.processed()
  s.clock.set(spawned_at)
  const child = await s.agent({ agent_id: 9_001, config_hash: 'child', change: 'spawned', seed })
  await s.processed()

  near(t, (await s.reputation(child, 'docs')).rolling_score, (2 * 0.56 + 1) / 3, 'docs')
  near(t, (await s.reputation(child, 'other')).rolling_score, (2 * 0.35) / 3, 'other')
  await sound(t, s)
})

t.test('a configuration with an older record is not seeded', async (t) => {
  const s = await setup(t)
  await parentAt80(t, s)
  await s.earn({ agent_id: 9_002, config_hash: 'child', kind: 'rejected', domain: 'docs' })
  await s.processed()
  s.clock.advance(60_000)
  const child = await spawn(s, 'child')
  await s.processed()

  const { rolling_score, evidence_count } = await s.reputation(child, 'docs')
  t.ok(Math.abs(rolling_score - 1 / 3) < 1e-4, `${rolling_score}`)
  t.equal(evidence_count, 1)
})
