import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type PostgresServer, startNats, startPostgres, waitFor } from '@guildhall/testing'
import pg from 'pg'
import t from 'tap'
import { createFakeRepository, environmentOf, isAlive } from './fake-repository.ts'

/** The least that DATABASE_URL has to be: no superuser, but may make roles and databases. */
const createAdmin = async (postgres: PostgresServer): Promise<string> => {
  const client = new pg.Client(postgres.adminUrl)
  await client.connect()
  await client.query(`create role operator login createrole createdb password 'pw'`)
  await client.end()
  return `postgres://operator:pw@127.0.0.1:${postgres.port}/postgres`
}

t.test('up brings everything, says how to use it, and gives each service its own', async (t) => {
  const repository = await createFakeRepository(t)
  const { code, output } = await repository.up()
  t.equal(code, 0, output)

  const dev = repository.devFile()
  t.match(output, dev.owner.login_url)
  t.match(output, `"Authorization": "Bearer ${dev.agent?.token}"`)
  t.match(output, `${dev.api_url}/goals -H 'Authorization: Bearer ${dev.owner.api_token}'`)
  t.equal(dev.mcp_url, `http://127.0.0.1:${repository.portBase}/mcp`)
  t.strictSame(Object.keys(dev.pids).sort(), [
    'approvals',
    'mcp-gateway',
    'nats-server',
    'postgres',
    'supervisor',
  ])
  t.ok(Object.values(dev.pids).every(isAlive))
  t.ok(existsSync(join(repository.root, 'provisioned')))
  for (const secret of ['dev.json', 'bootstrap.json', 'keys/dev.json', 'nats/nats.conf']) {
    t.equal(statSync(join(repository.root, 'var', secret)).mode & 0o777, 0o600, secret)
  }

  const gateway = environmentOf(repository, 'mcp-gateway')
  t.equal(gateway.DATABASE_URL, undefined)
  t.equal(gateway.SECRETS_MASTER_KEYS, undefined)
  t.equal(gateway.NATS_USER, 'mcp-gateway')
  const approvals = environmentOf(repository, 'approvals')
  t.equal(approvals.HTTP_PORT, undefined)
  t.match(approvals.DATABASE_URL, /guildhall_approvals:\w+@127\.0\.0\.1:\d+\/guildhall_approvals$/)
  t.match(approvals.SECRETS_MASTER_KEYS, /^k1:[A-Za-z0-9+/]{43}=$/)
})

t.test('servers that are given by URL are used, and none is started', async (t) => {
  const repository = await createFakeRepository(t)
  const [nats, postgres] = await Promise.all([startNats(), startPostgres({ fsync: false })])
  const admin = await createAdmin(postgres)
  const { code, output } = await repository.up({ NATS_URL: nats.url, DATABASE_URL: admin })
  t.equal(code, 0, output)
  const { pids, nats_url } = repository.devFile()
  t.strictSame(Object.keys(pids).sort(), ['approvals', 'mcp-gateway', 'supervisor'])
  t.equal(nats_url, nats.url)
  const { NATS_USER, DATABASE_URL } = environmentOf(repository, 'approvals')
  t.equal(NATS_USER, undefined)
  t.match(DATABASE_URL, `@127.0.0.1:${postgres.port}/guildhall_approvals`)

  await repository.down()
  t.ok(nats.running && postgres.running)
  await Promise.all([nats.stop(), postgres.stop()])
})

t.test('Ctrl-C while it comes up leaves nothing running', async (t) => {
  const repository = await createFakeRepository(t)
  const up = repository.startUp()
  await once(up.stdout!, 'data')
  await waitFor(() => existsSync(join(repository.root, 'var/run/supervisor.json')), {
    what: 'the supervisor to show',
  })
  const { supervisor } = JSON.parse(repository.read('var/run/supervisor.json'))
  up.kill('SIGINT')
  const [code] = await once(up, 'exit')
  t.equal(code, 130)
  t.notOk(isAlive(supervisor.pid))
  t.notOk(existsSync(join(repository.root, 'var/run/supervisor.json')))
})

t.test('logs are shown in readable form', async (t) => {
  const repository = await createFakeRepository(t)
  await repository.up()
  const { output } = await repository.logs()
  t.match(output, /approvals +INFO +up/)
  t.match(output, /supervisor +INFO +streams and buckets took_ms=\d+/)
  t.match(output, /postgres .*database system is ready/)
})
