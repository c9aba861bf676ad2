import { transaction } from '@guildhall/db'
import t from 'tap'
import { verifyAudit } from '../src/audit-chain.ts'
import { addAudit } from '../src/store/audit-log.ts'
import { newUser, type Setup, setup, tableRows } from './setup.ts'

const entry = (user_id: number | null, action: string) => ({
  at: new Date(Date.UTC(2030, 0, 1, 12, 0, 0, 123)),
  user_id,
  actor: user_id === null ? 'nobody' : `human:${user_id}`,
  action,
  object: 'thing:1',
  details: { n: 1.5, text: 'ü "quoted" \u2028', nested: { b: [1, null], a: true } },
  request_id: 'req_test',
})

const append = (s: Setup, user_id: number | null, ...actions: string[]): Promise<void> =>
  transaction(s.db, async (trx) => {
    for (const action of actions) await addAudit(trx, entry(user_id, action))
  })

/** As somebody does who owns the table and so may do anything to it. */
const tamper = (s: Setup, ...statements: string[]): Promise<void> =>
  transaction(s.db, async (trx) => {
    await trx.raw('alter table audit_log disable trigger user')
    for (const statement of statements) await trx.raw(statement)
    await trx.raw('alter table audit_log enable trigger user')
  })

/** Five rows of ann, and some of others around them. */
const written = async (t: Parameters<typeof setup>[0]) => {
  const s = await setup(t, { start: false })
  const bob = await newUser(s.db, s.clock, 'bob')
  const ann_id = s.ann.user_id
  await append(s, ann_id, 'one', 'two')
  await append(s, null, 'login.refused')
  await append(s, bob.user_id, 'other')
  for (const action of ['three', 'four', 'five']) await append(s, ann_id, action)
  return { ...s, ann_id, bob_id: bob.user_id }
}

t.test('what was only ever appended is whole, in pages of any size', async (t) => {
  const s = await written(t)
  for (const page of [1, 2, 5, 1_000]) {
    t.strictSame(await verifyAudit(s.db, page), { chains: 3, rows: 7, broken: null })
  }
  const chain = await tableRows(
    s.db,
    `select seq, action from audit_log where user_id = ${s.ann_id} order by seq`,
  )
  t.strictSame(
    chain,
    ['one', 'two', 'three', 'four', 'five'].map((action, i) => ({ seq: i + 1, action })),
  )
})

const of = (s: { ann_id: number }, seq: number) => `user_id = ${s.ann_id} and seq = ${seq}`

t.test('a changed row is found, whatever was changed in it', async (t) => {
  const changes = [
    `actor = 'human:9'`,
    `action = 'other'`,
    `object = 'thing:2'`,
    `details = jsonb_set(details, '{nested,b}', '[2]')`,
    `at = at + interval '1 microsecond'`,
    `request_id = ''`,
    `hash = repeat('a', 64)`,
  ]
  for (const change of changes) {
    const s = await written(t)
    await tamper(s, `update audit_log set ${change} where ${of(s, 3)}`)
    const { broken } = await verifyAudit(s.db, 2)
    t.match(broken, { chain: s.ann_id, seq: 3 }, change)
  }
})

t.test('a removed row is found: in the middle, the first, and the last', async (t) => {
  for (const seq of [1, 3, 5]) {
    const s = await written(t)
    await tamper(s, `delete from audit_log where ${of(s, seq)}`)
    const { broken } = await verifyAudit(s.db, 2)
    t.match(broken, { chain: s.ann_id, seq, problem: /missing/ }, `row ${seq}`)
  }
})

t.test('rows that changed places are found', async (t) => {
  const s = await written(t)
  await tamper(
    s,
    `update audit_log set seq = -2 where ${of(s, 2)}`,
    `update audit_log set seq = 2 where ${of(s, 3)}`,
    `update audit_log set seq = 3 where ${of(s, -2)}`,
  )

  t.match((await verifyAudit(s.db)).broken, { chain: s.ann_id, seq: 2 })
})

t.test('a row that moved to another owner is found', async (t) => {
  const s = await written(t)
  await tamper(s, `update audit_log set user_id = ${s.bob_id}, seq = 2 where ${of(s, 5)}`)

  t.match((await verifyAudit(s.db)).broken, { chain: s.ann_id, seq: 5, problem: /missing/ })
})

t.test('a row put in past the chain is found, and so is a cut head', async (t) => {
  const columns = 'at, user_id, actor, action, object, details, request_id'
  const s = await written(t)
  await tamper(
    s,
    `insert into audit_log (${columns}) select ${columns} from audit_log where ${of(s, 1)}`,
  )
  t.match((await verifyAudit(s.db)).broken, { chain: s.ann_id, problem: /never joined/ })

  const cut = await written(t)
  await tamper(
    cut,
    `update audit_heads set seq = 3, hash = (select hash from audit_log where ${of(cut, 3)})
     where chain = ${cut.ann_id}`,
  )
  t.match((await verifyAudit(cut.db)).broken, { chain: cut.ann_id, problem: /never joined/ })
  await tamper(cut, `delete from audit_heads where chain = ${cut.ann_id}`)
  t.match((await verifyAudit(cut.db)).broken, { chain: cut.ann_id, problem: /never joined/ })
})

t.test('without breaking in, a row cannot be changed even before its place is fixed', async (t) => {
  const s = await written(t)
  const late = transaction(s.db, async (trx) => {
    await addAudit(trx, entry(s.ann_id, 'six'))
    await trx.raw(`update audit_log set actor = 'x' where seq is null`)
  })
  await t.rejects(late, { message: /append only/ })
  const forged = tableRows(s.db, `update audit_log set seq = 9, hash = '' where ${of(s, 5)}`)
  await t.rejects(forged, { message: /append only/ })

  t.strictSame(await verifyAudit(s.db), { chains: 3, rows: 7, broken: null })
})

t.test('transactions of many owners at once make whole chains, without gaps', async (t) => {
  const s = await setup(t, { start: false })
  const bob = await newUser(s.db, s.clock, 'bob')
  const users = [s.ann.user_id, bob.user_id, null]
  const failing = (user_id: number) =>
    transaction(s.db, async (trx) => {
      await addAudit(trx, entry(user_id, 'undone'))
      throw new Error('rolled back')
    })
  const work = Array.from({ length: 30 }, (_, i) => append(s, users[i % 3]!, `a${i}`, `b${i}`))
  const undone = Array.from({ length: 6 }, () => failing(s.ann.user_id).catch(() => undefined))
  await Promise.all([...work, ...undone])

  t.strictSame(await verifyAudit(s.db, 7), { chains: 3, rows: 60, broken: null })
  const heads = await tableRows(s.db, 'select chain, seq from audit_heads order by chain')
  t.strictSame(heads, [
    { chain: 0, seq: 20 },
    { chain: s.ann.user_id, seq: 20 },
    { chain: bob.user_id, seq: 20 },
  ])
})

t.test('a transaction that is long in the making holds up nobody', async (t) => {
  const s = await setup(t, { start: false })
  const { user_id } = s.ann
  await transaction(s.db, async (trx) => {
    await addAudit(trx, entry(user_id, 'first to write, last to commit'))
    // Of the same owner: would wait for ever if the head were locked before the commit.
    await append(s, user_id, 'second')
  })

  const rows = await tableRows(s.db, 'select seq, action from audit_log order by seq')
  t.strictSame(rows, [
    { seq: 1, action: 'second' },
    { seq: 2, action: 'first to write, last to commit' },
  ])
  t.strictSame(await verifyAudit(s.db), { chains: 2, rows: 2, broken: null })
})
