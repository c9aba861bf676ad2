import { spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { waitFor } from '@guildhall/testing'
import pg from 'pg'
import t, { type Test } from 'tap'
import {
  createFakeRepository,
  environmentOf,
  type FakeRepository,
  isAlive,
} from './fake-repository.ts'

const setup = async (t: Test): Promise<FakeRepository> => {
  const repository = await createFakeRepository(t.testdir())
  t.teardown(() => repository.down())
  return repository
}

const migrationRuns = async (repository: FakeRepository): Promise<number> => {
  const client = new pg.Client(environmentOf(repository, 'approvals').DATABASE_URL)
  await client.connect()
  const { rowCount } = await client.query('select from runs')
  await client.end()
  return rowCount ?? 0
}

t.test('whatever dies is started again, and the pids are kept current', async (t) => {
  const repository = await setup(t)
  await repository.up()
  for (const name of ['approvals', 'nats-server', 'postgres']) {
    const pid = repository.devFile().pids[name]!
    process.kill(pid, 'SIGKILL')
    const next = await waitFor(
      () => {
        const now = repository.devFile().pids[name]
        return now !== undefined && now !== pid && isAlive(now) && now
      },
      { what: `${name} to run again` },
    )
    t.not(next, pid)
  }
})

t.test('down ends all of it, and the data is there at the next up', async (t) => {
  const repository = await setup(t)
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
  t.strictSame(second.owner, first.owner)
  t.strictSame(second.agent, first.agent)
  t.equal(await migrationRuns(repository), 2)
})

t.test('down never ends a process that was given the pid of one of ours', async (t) => {
  const repository = await setup(t)
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

t.test('after a kill -9 of the supervisor the next up cleans up and starts anew', async (t) => {
  const repository = await setup(t)
  // Stubborn services outlive the death signal, as one that is stuck would.
  await repository.up({ GUILDHALL_FAKE_STUBBORN: '1' })
  const before = repository.devFile()
  process.kill(before.pids.supervisor!, 'SIGKILL')
  await waitFor(() => !isAlive(before.pids.supervisor!), { what: 'the supervisor to be gone' })
  t.ok(isAlive(before.pids.approvals!))

  const { code, output } = await repository.up()
  t.equal(code, 0, output)
  t.notOk(Object.values(before.pids).some(isAlive))
  t.strictSame(repository.devFile().agent, before.agent)
})
