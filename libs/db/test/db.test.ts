import { ServiceError } from '@guildhall/contracts'
import { createLogger } from '@guildhall/runtime'
import { createDatabase, startPostgres, waitFor } from '@guildhall/testing'
import t, { type Test } from 'tap'
import {
  addAllToOutbox,
  addToOutbox,
  connectDb,
  type Db,
  firstTime,
  inboxMigration,
  isMigrated,
  type Migrations,
  migrate,
  outboxMigration,
  outboxRelay,
  query,
  transaction,
} from '../src/index.ts'

const log = createLogger({ service: 'db-test', level: 'silent' })

const migrations: Migrations = {
  '0001-outbox': { up: outboxMigration },
  '0002-inbox': { up: inboxMigration },
  '0003-things': {
    up: async (trx) => {
      await trx.raw('create table things (id bigint primary key, at timestamptz, n bigint)')
    },
  },
}

const setup = async (t: Test, migrated = true): Promise<{ db: Db; url: string }> => {
  const { url, drop } = await createDatabase()
  const db = connectDb(url, { log })
  t.teardown(async () => {
    await db.destroy()
    await drop()
  })
  if (migrated) await migrate(db, migrations)
  return { db, url }
}

t.test('ten starters migrate an empty database once', async (t) => {
  const { db, url } = await setup(t, false)
  t.notOk(await isMigrated(db, migrations))
  const others = Array.from({ length: 10 }, () => connectDb(url, { log, max: 1 }))
  const applied = await Promise.all(others.map((each) => migrate(each, migrations)))
  t.equal(applied.filter((names) => names.length === 3).length, 1)
  t.equal(applied.filter((names) => names.length === 0).length, 9)
  t.ok(await isMigrated(db, migrations))
  for (const each of others) await each.destroy()
})

t.test('an older release refuses a newer database', async (t) => {
  const { db } = await setup(t)
  const { '0003-things': _newest, ...older } = migrations
  await t.rejects(migrate(db, older), /newer than this release: 0003-things/)
})

t.test(
  'times are RFC 3339 text, and an integer beyond 2^53 is an error, not a rounding',
  async (t) => {
    const { db } = await setup(t)
    await db('things').insert({ id: 1, at: '2026-01-02T03:04:05.678Z', n: '9007199254740993' })
    t.strictSame(await db('things').select('at'), [{ at: '2026-01-02T03:04:05.678Z' }])
    await t.rejects(
      query(() => db('things').select('n')),
      /beyond 2\^53/,
    )
  },
)

t.test('what is in the outbox goes out once per flush, also with two relays', async (t) => {
  const { db } = await setup(t)
  const sent: string[] = []
  const relay = () => outboxRelay({ db, log, publish: async (row) => void sent.push(row.key) })
  await transaction(db, async (trx) => {
    for (let i = 0; i < 250; i += 1) {
      await addToOutbox(trx, { subject: 's', key: `${i}`, payload: { i } })
    }
  })
  await Promise.all([relay().flush(), relay().flush()])
  t.equal(sent.length, 250)
  t.equal(new Set(sent).size, 250)
  await t.rejects(
    transaction(db, async (trx) => {
      await addToOutbox(trx, { subject: 's', key: 'rolled back', payload: {} })
      throw new Error('the change failed')
    }),
  )
  await relay().flush()
  t.notOk(sent.includes('rolled back'))
})

t.test('a row whose publishing failed stays and goes out later', async (t) => {
  const { db } = await setup(t)
  let broken = true
  const sent: string[] = []
  const relay = outboxRelay({
    db,
    log,
    publish: async (row) => {
      if (broken) throw new Error('bus down')
      sent.push(row.key)
    },
  })
  await transaction(db, (trx) => addToOutbox(trx, { subject: 's', key: 'k', payload: {} }))
  await t.rejects(relay.flush(), /bus down/)
  broken = false
  await relay.start()
  await waitFor(async () => sent.length === 1, { what: 'the periodic relay' })
  await relay.stop()
  t.strictSame(sent, ['k'])
})

t.test('a row that cannot go out holds up its own key and no other', async (t) => {
  const { db } = await setup(t)
  const sent: string[] = []
  const relay = outboxRelay({
    db,
    log,
    publish: async (row) => {
      if (row.key === 'broken') throw new Error('cannot be published')
      sent.push(row.key)
    },
  })
  await transaction(db, async (trx) => {
    for (const key of ['broken', 'a', 'broken', 'b']) {
      await addToOutbox(trx, { subject: 's', key, payload: {} })
    }
  })
  await t.rejects(relay.flush(), /cannot be published/)
  t.strictSame(sent.toSorted(), ['a', 'b'])
})

t.test('a page full of rows that cannot go out does not hide those behind it', async (t) => {
  const { db } = await setup(t)
  const sent: string[] = []
  const relay = outboxRelay({
    db,
    log,
    publish: async (row) => {
      if (row.key.startsWith('broken')) throw new Error('cannot be published')
      sent.push(row.key)
    },
  })
  await transaction(db, async (trx) => {
    const keys = [...Array.from({ length: 250 }, (_, i) => `broken-${i}`), 'a', 'broken-0', 'b']
    await addAllToOutbox(
      trx,
      keys.map((key) => ({ subject: 's', key, payload: {} })),
    )
  })
  await t.rejects(relay.flush(), /cannot be published/)
  t.strictSame(sent.toSorted(), ['a', 'b'])
  t.strictSame((await db('outbox').count('id as rows'))[0], { rows: 251 })
})

t.test('rows of one key go out in their order, however many go out at once', async (t) => {
  const { db } = await setup(t)
  const sent = new Map<string, number[]>()
  let running = 0
  let most = 0
  const relay = outboxRelay({
    db,
    log,
    publish: async (row) => {
      running += 1
      most = Math.max(most, running)
      await new Promise((resolve) => setImmediate(resolve))
      running -= 1
      const { number } = row.payload as { number: number } // as put in below
      sent.set(row.key, [...(sent.get(row.key) ?? []), number])
    },
  })
  await transaction(db, (trx) =>
    addAllToOutbox(
      trx,
      Array.from({ length: 300 }, (_, number) => ({
        subject: 's',
        key: `k${number % 30}`,
        payload: { number },
      })),
    ),
  )
  await relay.flush()
  t.equal(sent.size, 30)
  for (const numbers of sent.values()) {
    t.strictSame(
      numbers,
      numbers.toSorted((a, b) => a - b),
    )
  }
  t.equal([...sent.values()].flat().length, 300)
  t.ok(most > 1 && most <= 16, `${most} at once`)
})

t.test('an event takes effect once per consumer', async (t) => {
  const { db } = await setup(t)
  const effect = (consumer: string) => transaction(db, (trx) => firstTime(trx, consumer, 'e1'))
  const results = await Promise.all(Array.from({ length: 20 }, () => effect('a')))
  t.equal(results.filter(Boolean).length, 1)
  t.equal(await effect('b'), true)
})

t.test('a database that is down is unavailable, and usable once it is back', async (t) => {
  const server = await startPostgres()
  const db = connectDb(server.url('postgres'), { log })
  t.teardown(async () => {
    await db.destroy()
    await server.stop()
  })
  await query(() => db.raw('select 1'))
  await server.kill()
  try {
    await query(() => db.raw('select 1'))
    t.fail('expected unavailable')
  } catch (error) {
    t.type(error, ServiceError)
    t.equal((error as ServiceError).code, 'unavailable')
  }
  await server.restart()
  await waitFor(async () => await query(() => db.raw('select 1')), { what: 'the database' })
})
