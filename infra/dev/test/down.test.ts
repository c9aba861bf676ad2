import { spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import t from 'tap'
import {
  createFakeRepository,
  environmentOf,
  type FakeRepository,
  isAlive,
} from './fake-repository.ts'

const migrationRuns = async (repository: FakeRepository): Promise<number> => {
  const client = new pg.Client(environmentOf(repository, 'approvals').DATABASE_URL)
  await client.connect()
  const { rowCount } = await client.query('select from runs')
  await client.end()
  return rowCount ?? 0
}

t.test('down ends all of it, and the data is there at the next up', async (t) => {
  const repository = await createFakeRepository(t)
  await repository.up()
  const first = repository.devFile()
  const stopped = await repository.down()
  t.equal(stopped.code, 0)
  t.match(stopped.output, 'Guildhall is stopped')
  t.notOk(Object.values(first.pids).some(isAlive))
  t.notOk(existsSync(join(repository.root, 'var/dev.json')))
  t.match((await repository.down()).output, 'not running')

  await repository.up()
  const second = repository.devFile()
  t.equal(second.owner.api_token, first.owner.api_token)
  t.strictSame(second.agent, first.agent)
  t.equal(await migrationRuns(repository), 2)
})

t.test('down never ends a process that was given the pid of one of ours', async (t) => {
  const repository = await createFakeRepository(t)
  await repository.up()
  await repository.down()
  const stranger = spawn('sleep', ['60'])
  t.teardown(() => stranger.kill('SIGKILL'))
  const stale = { name: 'supervisor', pid: stranger.pid, identity: 'an-earlier-boot/123' }
  const state = { supervisor: stale, phase: 'ready', children: [{ ...stale, name: 'tasks' }] }
  writeFileSync(join(repository.root, 'var/run/supervisor.json'), JSON.stringify(state))
  t.match((await repository.down()).output, 'not running any more')
  t.ok(isAlive(stranger.pid!))
})
