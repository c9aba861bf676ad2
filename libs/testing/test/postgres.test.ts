import pg from 'pg'
import t from 'tap'
import { startPostgres } from '../src/index.ts'

const query = async (url: string, sql: string): Promise<unknown[]> => {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

t.test('a committed row survives kill -9 of the postmaster', async (t) => {
  const server = await startPostgres()
  await query(server.adminUrl, 'create table kept as select 1 as n')
  const pid = server.pid

  await server.kill()
  await server.restart()

  t.not(server.pid, pid)
  t.strictSame(await query(server.url('postgres'), 'select n from kept'), [{ n: 1 }])
  await server.stop()
})

t.test('a cluster is taken up again from its data directory, password and all', async (t) => {
  const dataDir = `${t.testdir()}/data`
  const first = await startPostgres({ dataDir, fsync: false })
  await query(first.adminUrl, 'create database kept')
  await first.stop()

  const second = await startPostgres({ dataDir, fsync: false })
  t.strictSame(await query(second.url('kept'), 'select current_database() as db'), [{ db: 'kept' }])
  await second.stop()
})

t.test('nobody gets in without the password', async (t) => {
  const server = await startPostgres({ fsync: false })
  const url = new URL(server.adminUrl)
  url.password = 'wrong'
  await t.rejects(query(url.href, 'select 1'), { code: '28P01' })
  await server.stop()
})
