import { connectDb, migrate } from '@guildhall/db'
import { createLogger } from '@guildhall/runtime'
import { createDatabase } from '@guildhall/testing'
import t from 'tap'
import { verifyAudit } from '../src/audit-chain.ts'
import { migrations } from '../src/migrations/index.ts'
import { tableRows } from './setup.ts'

const BEFORE = '0008-chain-audit-log'

t.test('rows from before there were chains get their places in the order they came', async (t) => {
  const { url } = await createDatabase()
  const db = connectDb(url, { log: createLogger({ service: 'test', level: 'silent' }) })
  t.teardown(() => db.destroy())
  const old = Object.entries(migrations).filter(([name]) => name < BEFORE)
  await migrate(db, Object.fromEntries(old))
  await db.raw(`
    insert into users (username, created_at) values ('ann', now()), ('bob', now());
    insert into audit_log (at, user_id, actor, action, object, details, request_id)
    select now(), nullif(n % 3, 0), 'human', 'a' || n, 'thing', '{}', 'req'
    from generate_series(1, 9) n`)
  await migrate(db, migrations)

  t.strictSame(await verifyAudit(db, 2), { chains: 3, rows: 9, broken: null })
  const rows = await tableRows(
    db,
    'select user_id, seq, action from audit_log where user_id = 1 order by seq',
  )
  t.strictSame(
    rows,
    ['a1', 'a4', 'a7'].map((action, i) => ({ user_id: 1, seq: i + 1, action })),
  )
})
