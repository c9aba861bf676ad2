import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { createFakeRepository } from './fake-repository.ts'

t.test('a second up starts nothing, and shows the same with a new login link', async (t) => {
  const repository = await createFakeRepository(t)
  await repository.up()
  const before = repository.devFile()
  const { code, output } = await repository.up()
  t.equal(code, 0)
  t.match(output, 'already running')
  const after = repository.devFile()
  t.match(output, after.owner.login_url)
  t.not(after.owner.login_url, before.owner.login_url)
  after.owner.login_url = before.owner.login_url
  t.strictSame(after, before)
})

t.test('two at the same time start one', async (t) => {
  const repository = await createFakeRepository(t)
  const [one, two] = await Promise.all([repository.up(), repository.up()])
  t.strictSame([one.code, two.code], [0, 0], one.output + two.output)
  t.equal([one, two].filter(({ output }) => output.includes('already running')).length, 1)
})

t.test('a port that is taken is named, with the way out, and nothing stays', async (t) => {
  const repository = await createFakeRepository(t)
  const squatter = createServer().listen(repository.portBase + 10, '127.0.0.1')
  t.teardown(() => squatter.close())
  const { code, output } = await repository.up()
  t.equal(code, 1)
  t.match(output, `127.0.0.1:${repository.portBase + 10} (for mcp-gateway, health)`)
  t.match(output, 'GUILDHALL_PORT_BASE')
  t.notOk(existsSync(join(repository.root, 'var/run/supervisor.json')))
})

t.test('a service that cannot start fails the up with its own words', async (t) => {
  const repository = await createFakeRepository(t)
  const { code, output } = await repository.up({ GUILDHALL_FAKE_BROKEN: 'approvals' })
  t.equal(code, 1)
  t.match(output, 'approvals is not ready: it ended 3 times')
  t.match(output, 'the environment is not usable')
  t.match((await repository.down()).output, 'not running')
  const log = readFileSync(join(repository.root, 'var/log/supervisor.log'), 'utf8')
  t.match(log, '"msg":"stopped"')
})
