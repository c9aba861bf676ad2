import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { waitFor } from '@guildhall/testing'
import t from 'tap'
import { createFakeRepository, isAlive } from './fake-repository.ts'

t.test('credentials that were lost are not invented: the owner still gets in', async (t) => {
  const repository = await createFakeRepository(t)
  await repository.up()
  await repository.down()
  rmSync(join(repository.root, 'var/bootstrap.json'))
  const { code, output } = await repository.up()
  t.equal(code, 0)
  t.equal(repository.devFile().agent, undefined)
  t.match(output, repository.devFile().owner.login_url)
  t.match(output, 'shown once and then lost')
})

t.test('when var/ is deleted under it, it ends instead of running unseen', async (t) => {
  const repository = await createFakeRepository(t)
  await repository.up()
  const { pids } = repository.devFile()
  rmSync(join(repository.root, 'var/run'), { recursive: true })
  const allEnded = () => !Object.values(pids).some(isAlive)
  t.ok(await waitFor(allEnded, { timeout_ms: 20_000, what: 'everything to end' }))
})
