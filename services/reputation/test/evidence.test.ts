import { publish } from '@guildhall/bus'
import { evidenceEarned, evidenceOutcomes } from '@guildhall/contracts'
import { startNats, waitFor } from '@guildhall/testing'
import t from 'tap'
import { earn } from '../src/earn.ts'
import { reconcileOnce } from '../src/reconcilers/reconcile.ts'
import { sweepInbox } from '../src/reconcilers/retention.ts'
import { tableRows } from './rows.ts'
import { DAY_MS, earnMany, near, newId, type Setup, setup } from './setup.ts'

const naiveScore = (outcomes: readonly number[], prior = 0.5): number =>
  (2 * prior + outcomes.reduce((sum, outcome) => sum + outcome, 0)) / (2 + outcomes.length)

const count = async (s: Setup, table: string): Promise<number> =>
  (await tableRows(s.db, `select 1 from ${table}`)).length

t.test('what each kind is worth', async (t) => {
  const s = await setup(t)
  const worth = {
    verified_auto: 0.7,
    verified_peer: 1,
    verified_command: 1,
    rejected: 0,
    timed_out: 0,
    lapsed: 0.2,
  } as const
  for (const [kind, outcome] of Object.entries(worth)) {
    const agent_id = await s.agent({ config_hash: kind })
    await s.earn({ agent_id, config_hash: kind, kind: kind as keyof typeof worth }) // a key of it
    await s.processed()
    near(t, (await s.reputation(agent_id)).rolling_score, naiveScore([outcome]), kind)
  }
})

t.test('fifty events at once add up', async (t) => {
  const s = await setup(t)
  const agent_id = await s.agent({ config_hash: 'h' })
  const kinds = [
    'verified_auto',
    'rejected',
    'lapsed',
    'verified_peer',
    'verified_command',
  ] as const
  await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      s.earn({
        agent_id,
        config_hash: 'h',
        kind: kinds[i % kinds.length]!,
        at: s.clock.now() - i * 60_000,
      }),
    ),
  )
  await s.processed()

  const { evidence_count, rolling_score } = await s.reputation(agent_id)
  t.equal(evidence_count, 50)
  // Ten of each kind, the oldest fifty minutes old.
  t.ok(Math.abs(rolling_score - (1 + 10 * (0.7 + 0 + 0.2 + 1 + 1)) / 52) < 1e-3, `${rolling_score}`)
  const { scores, evidence, differences } = await s.recomputed()
  t.strictSame({ scores, evidence, differences }, { scores: 1, evidence: 50, differences: 0 })
})

t.test('an event that is delivered ten times counts once', async (t) => {
  const s = await setup(t)
  const agent_id = await s.agent({ config_hash: 'h' })
  await s.processed()
  const event = {
    v: 1 as const,
    user_id: s.user_id,
    agent_id,
    config_hash: 'h',
    domain: 'default',
    kind: 'rejected' as const,
    ref: 'task:1',
    task_id: 1,
    at: s.clock.now(),
  }
  const taken = await Promise.all(
    Array.from({ length: 10 }, () => earn(s.deps, 'task-1-revision-7', event)),
  )

  t.equal(taken.filter(Boolean).length, 1)
  t.equal((await s.reputation(agent_id)).evidence_count, 1)
  t.equal((await s.recomputed()).differences, 0)
})

t.test('two owners with the same configuration do not share a score', async (t) => {
  const s = await setup(t)
  const bob = { kind: 'human', user_id: newId() } as const
  const mine = await s.agent({ config_hash: 'same' })
  const theirs = await s.agent({ config_hash: 'same', user_id: bob.user_id })
  await earnMany(s, 4, { agent_id: mine, config_hash: 'same', kind: 'rejected' })
  await s.processed()

  near(t, (await s.reputation(mine)).rolling_score, naiveScore([0, 0, 0, 0]))
  const foreign = await s.reputation(theirs, 'default', bob)
  t.match(foreign, { rolling_score: 0.5, evidence_count: 0, quarantined: false, domains: [] })
})

t.test('domains are apart, and each is shown', async (t) => {
  const s = await setup(t)
  const agent_id = await s.agent({ config_hash: 'h' })
  await s.earn({ agent_id, config_hash: 'h', kind: 'verified_peer', domain: 'docs' })
  await s.earn({ agent_id, config_hash: 'h', kind: 'rejected', domain: 'code' })
  await s.processed()
  const seen = await s.reputation(agent_id, 'docs')

  near(t, seen.rolling_score, 2 / 3)
  t.strictSame(
    seen.domains.map(({ domain, evidence_count }) => ({ domain, evidence_count })),
    [
      { domain: 'code', evidence_count: 1 },
      { domain: 'docs', evidence_count: 1 },
    ],
  )
  t.equal(seen.last_evidence_at, new Date(s.clock.now()).toISOString())
  t.match(await s.reputation(agent_id, 'default'), { rolling_score: 0.5, last_evidence_at: null })
})

t.test('scores read as they are now, and as they were stored', async (t) => {
  const s = await setup(t)
  const agent_id = await s.agent({ config_hash: 'h' })
  await s.earn({ agent_id, config_hash: 'h', kind: 'verified_peer' })
  await s.processed()
  s.clock.advance(30 * DAY_MS)

  near(t, (await s.reputation(agent_id)).rolling_score, 1.5 / 2.5)
  const [stored] = await tableRows(s.db, 'select score from scores')
  near(t, Number(stored?.score), 2 / 3, 'at the time of the row')
})

t.test('a writer whose clock runs ahead does not age what came before', async (t) => {
  const s = await setup(t)
  const agent_id = await s.agent({ config_hash: 'h' })
  await s.earn({ agent_id, config_hash: 'h', kind: 'rejected' })
  await s.earn({
    agent_id,
    config_hash: 'h',
    kind: 'verified_peer',
    at: s.clock.now() + 1_000 * DAY_MS,
  })
  await s.processed()

  near(t, (await s.reputation(agent_id)).rolling_score, naiveScore([0, 1]))
})

t.test('what cannot be evidence is a dead letter, and changes nothing', async (t) => {
  const s = await setup(t)
  const agent_id = await s.agent({ config_hash: 'h' })
  const { state: before } = await s.bus.jsm.streams.info('DEAD')
  await s.earn({ agent_id, config_hash: 'h', kind: 'seed' })
  await s.earn({ agent_id, config_hash: 'h', kind: 'rejected', domain: '*' })
  await s.earn({ agent_id, config_hash: '\u0000', kind: 'rejected' })
  await publish(s.outside, evidenceEarned.subject, { v: 2 })
  await s.earn({
    agent_id,
    config_hash: 'h',
    kind: 'rejected',
    ref: `task:1 \u0000${'x'.repeat(9_000)}`,
  })
  await s.processed()

  const { state: after } = await s.bus.jsm.streams.info('DEAD')
  t.equal(after.messages - before.messages, 4)
  const rows = await tableRows(s.db, 'select length(ref) as length from evidence')
  t.strictSame(rows, [{ length: 500 }])
})

t.test('the ledger can be added to and not changed', async (t) => {
  const s = await setup(t)
  const agent_id = await s.agent({ config_hash: 'h' })
  await s.agent({
    config_hash: 'child',
    change: 'spawned',
    seed: { from_config_hash: 'h', domain: 'docs' },
  })
  await s.earn({ agent_id, config_hash: 'h', kind: 'rejected' })
  await s.processed()
  for (const table of ['evidence', 'seeds']) {
    for (const change of [
      `update ${table} set domain = 'x'`,
      `delete from ${table}`,
      `truncate ${table}`,
    ]) {
      await t.rejects(tableRows(s.db, change), /permission denied/, change)
      const forced = `grant update, delete, truncate on ${table} to current_user; ${change}`
      await t.rejects(tableRows(s.db, forced), /append only/, `${change}, with the privilege`)
    }
  }
  t.equal(await count(s, 'evidence'), 1)
})

t.test('a score that was tampered with is found', async (t) => {
  const s = await setup(t)
  const agent_id = await s.agent({ config_hash: 'h' })
  await earnMany(s, 3, { agent_id, config_hash: 'h', kind: 'verified_auto' })
  await s.earn({ agent_id, config_hash: 'h', kind: 'rejected', domain: 'lost' })
  await s.processed()
  t.equal((await s.recomputed()).differences, 0)
  await tableRows(s.db, `update scores set score = 0.99 where domain = 'default'`)
  await tableRows(s.db, `delete from scores where domain = 'lost'`)
  const { differences, found } = await s.recomputed()

  t.equal(differences, 2)
  t.match(found, [
    { domain: 'lost', field: 'missing' },
    { domain: 'default', field: 'score', stored: 0.99 },
  ])
})

t.test('the recomputation reads more rows than one page', async (t) => {
  const s = await setup(t)
  const agent_id = await s.agent({ config_hash: 'h' })
  await s.earn({ agent_id, config_hash: 'h', kind: 'verified_auto' })
  await s.processed()
  await tableRows(
    s.db,
    `insert into evidence (event_id, user_id, agent_id, config_hash, domain, kind, outcome, weight,
       ref, at)
     select 'behind-' || n, user_id, agent_id, config_hash, domain, kind, outcome, weight, ref, at
     from evidence, generate_series(1, 2500) n`,
  )
  const { found, evidence } = await s.recomputed()

  t.equal(evidence, 2_501)
  t.match(found, [
    { field: 'evidence_count', stored: 1, computed: 2_501 },
    { field: 'weight_sum' },
    { field: 'outcome_sum' },
    { field: 'score' },
  ])
})

t.test('random events from random times agree with the formula', async (t) => {
  const s = await setup(t)
  const kinds = Object.entries(evidenceOutcomes)
  const agent_id = await s.agent({ config_hash: 'h' })
  await s.processed()
  let state = 7
  const below = (limit: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * limit)
  }
  const rows = Array.from({ length: 60 }, () => {
    const [kind, outcome] = kinds[below(kinds.length)]!
    return { kind: kind as keyof typeof evidenceOutcomes, outcome, days: below(200) } // a key of it
  })
  for (const [i, { kind, days }] of rows.entries()) {
    await earn(s.deps, `random-${i}`, {
      v: 1,
      user_id: s.user_id,
      agent_id,
      config_hash: 'h',
      domain: 'default',
      kind,
      ref: '',
      task_id: 1,
      at: s.clock.now() - days * DAY_MS,
    })
  }
  const weighed = rows.map(({ outcome, days }) => ({ outcome, weight: 0.5 ** (days / 30) }))
  const weights = weighed.reduce((sum, { weight }) => sum + weight, 2)
  const outcomes = weighed.reduce((sum, { weight, outcome }) => sum + weight * outcome, 1)

  near(t, (await s.reputation(agent_id)).rolling_score, outcomes / weights)
  t.equal((await s.recomputed()).differences, 0)
})

t.test('a quarantine while the bus is down is told when it is back', async (t) => {
  const nats = await startNats()
  t.teardown(() => nats.kill())
  const s = await setup(t, { nats })
  const agent_id = await s.agent({ config_hash: 'h' })
  await s.processed()
  await nats.kill()
  for (let i = 0; i < 3; i += 1) {
    await earn(s.deps, `down-${i}`, {
      v: 1,
      user_id: s.user_id,
      agent_id,
      config_hash: 'h',
      domain: 'default',
      kind: 'rejected',
      ref: '',
      task_id: 1,
      at: s.clock.now(),
    })
  }
  t.equal(await count(s, 'outbox'), 3, 'an entry, an event, a notice')
  await nats.restart()

  const standing = await waitFor(() => s.standing(agent_id), {
    what: 'the standing after the outage',
    timeout_ms: 30_000,
  })
  t.match(standing, { quarantined: true, version: 1 })
})

t.test('a lost bucket is built again, and an older entry does not replace a newer', async (t) => {
  const s = await setup(t)
  const agent_id = await s.agent({ config_hash: 'h' })
  await earnMany(s, 3, { agent_id, config_hash: 'h', kind: 'rejected' })
  await s.processed()
  const quarantined = await waitFor(() => s.standing(agent_id), { what: 'the standing' })
  await s.unquarantine(agent_id)
  const lifted = await s.standing(agent_id)
  t.equal(await s.deps.projection.apply(quarantined), false, 'the older one')
  await s.standings.delete(`${s.user_id}.${agent_id}`)
  const { standings } = await reconcileOnce(s.deps)

  t.strictSame(standings, { seen: 1, written: 1 })
  t.strictSame(await s.standing(agent_id), lifted)
  t.strictSame((await reconcileOnce(s.deps)).standings, { seen: 1, written: 0 })
})

t.test('an agent that no event told of is known from the bucket', async (t) => {
  const s = await setup(t)
  const record = s.agentRecord({ config_hash: 'h' })
  await s.agents.put(`${s.user_id}.${record.agent_id}`, record)
  t.match(await s.reputation(record.agent_id), { config_hash: 'h', rolling_score: 0.5 })
  await reconcileOnce(s.deps)
  t.equal(await count(s, 'agents'), 1)
  await earnMany(s, 3, { agent_id: record.agent_id, config_hash: 'h', kind: 'rejected' })
  await s.processed()

  t.match(await s.standing(record.agent_id), { quarantined: true })
})

t.test('events that cannot come again are forgotten', async (t) => {
  const s = await setup(t)
  await s.agent({ config_hash: 'h' })
  await s.processed()
  t.equal(await count(s, 'inbox'), 1)
  t.equal(await sweepInbox(s.deps), 0)
  s.clock.advance(61 * DAY_MS)

  t.equal(await sweepInbox(s.deps), 1)
  t.equal(await count(s, 'inbox'), 0)
})
