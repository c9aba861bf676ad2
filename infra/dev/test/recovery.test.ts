import { waitFor } from '@guildhall/testing'
import t from 'tap'
import { createFakeRepository, isAlive } from './fake-repository.ts'

t.test('whatever dies is started again, and the pids are kept current', async (t) => {
  const repository = await createFakeRepository(t)
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

t.test('after a kill -9 of the supervisor the next up cleans up and starts anew', async (t) => {
  const repository = await createFakeRepository(t)
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
