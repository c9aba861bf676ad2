import pg from 'pg'
import t from 'tap'
import { createDatabase, testDatabase } from '../src/index.ts'

const query = async (url: string, sql: string): Promise<unknown[]> => {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

const countingTemplate = (name: string) => {
  const runs: string[] = []
  const migrate = async (url: string): Promise<void> => {
    runs.push(url)
    await query(url, 'create table notes (text text not null)')
  }
  return { runs, template: { name, migrate } }
}

t.test('two databases from one template are isolated, and it is migrated once', async (t) => {
  const { runs, template } = countingTemplate('isolated')
  const [one, two] = await Promise.all([createDatabase({ template }), createDatabase({ template })])

  await query(one.url, `insert into notes values ('only in one')`)

  t.not(one.url, two.url)
  t.strictSame(await query(one.url, 'select text from notes'), [{ text: 'only in one' }])
  t.strictSame(await query(two.url, 'select text from notes'), [])
  t.equal(runs.length, 1)
})

t.test('another hash is another template', async (t) => {
  const { runs, template } = countingTemplate('hashed')
  const salt = `${process.pid} ${Date.now()}`
  await createDatabase({ template: { ...template, hash: `${salt} 1` } })
  await createDatabase({ template: { ...template, hash: `${salt} 1` } })
  await createDatabase({ template: { ...template, hash: `${salt} 2` } })
  t.equal(runs.length, 2)
})

t.test('a migration that fails leaves no template behind', async (t) => {
  const { template } = countingTemplate('failing')
  const broken = { ...template, migrate: () => Promise.reject(new Error('syntax')) }
  await t.rejects(createDatabase({ template: broken }), /syntax/)
  const { url } = await createDatabase({ template })
  t.strictSame(await query(url, 'select text from notes'), [])
})

t.test('a database is empty without a template, and gone after its drop', async (t) => {
  const { url, drop } = await createDatabase()
  t.strictSame(await query(url, 'select 1 as n'), [{ n: 1 }])
  await drop()
  await t.rejects(query(url, 'select 1'), { code: '3D000' })
})

t.test('tests are no superuser', async (t) => {
  const { adminUrl } = await testDatabase()
  const rows = await query(adminUrl, 'select usesuper from pg_user where usename = current_user')
  t.strictSame(rows, [{ usesuper: false }])
})
