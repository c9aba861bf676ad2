import { fileURLToPath } from 'node:url'
import { applyTopology, connectBus, createCaller } from '@guildhall/bus'
import { callWithSecret, setSecret } from '@guildhall/contracts'
import { connectDb, migrate } from '@guildhall/db'
import { createLogger } from '@guildhall/runtime'
import { createDatabase, freePort, startNats, startService } from '@guildhall/testing'
import t from 'tap'
import { migrations } from '../src/migrations/index.ts'
import { newMasterKey, newOwner, refusal } from './setup.ts'
import { HOST, startTlsHost } from './tls-host.ts'

const VALUE = 'correct-horse-battery'
const entry = fileURLToPath(new URL('../src/main.js', import.meta.url))

t.test('a process that is killed during a call does not make it again', async (t) => {
  const log = createLogger({ service: 'test', level: 'silent' })
  const nats = await startNats()
  const { url: DATABASE_URL } = await createDatabase()
  const db = connectDb(DATABASE_URL, { log, max: 1 })
  await migrate(db, migrations)
  await db.destroy()
  const gateway = await connectBus({ url: nats.url, service: 'mcp-gateway', log })
  await applyTopology(gateway)
  const host = await startTlsHost(t)
  const ops_port = await freePort()
  const service = await startService({
    entry,
    name: 'secrets',
    env: {
      ...host.env,
      NODE_ENV: 'test',
      LOG_LEVEL: 'debug',
      NATS_URL: nats.url,
      DATABASE_URL,
      OPS_PORT: String(ops_port),
      VAULT_MASTER_KEYS: newMasterKey('k1'),
    },
    readyUrl: `http://127.0.0.1:${ops_port}/ready`,
  })
  t.teardown(async () => {
    await service.stop()
    await gateway.close()
    await nats.stop()
  })
  const principal = newOwner()
  const { call } = createCaller(gateway)
  const place = { scope_type: 'user', scope_id: principal.user_id, name: 'TOKEN' } as const
  await call(setSecret, { ...place, value: VALUE, hosts: [HOST] }, { principal })
  const charge = (idempotency_key: string) =>
    call(
      callWithSecret,
      {
        secret: 'TOKEN',
        method: 'POST',
        url: host.url('/charge'),
        headers: { authorization: 'Bearer {{TOKEN}}' },
      },
      { principal, idempotency_key, timeout_ms: 2_000 },
    )
  host.answer((_request, response) => void response.end(`charged with ${VALUE}`))
  t.equal((await charge('key-1')).body, 'charged with [secret TOKEN]')
  const arrived = new Promise<void>((resolve) => host.answer(() => resolve()))
  const lost = refusal(charge('key-2'))
  await arrived
  await service.kill()
  t.match(await lost, { code: /unavailable|deadline_exceeded/ })
  await service.restart()
  t.match(await refusal(charge('key-2')), { code: 'deadline_exceeded' })
  t.equal((await charge('key-1')).body, 'charged with [secret TOKEN]', 'what was finished stays')
  t.equal(host.seen.length, 2)
  t.notMatch(service.logs(), VALUE)
  const answered = await fetch(`http://127.0.0.1:${ops_port}/metrics`)
  t.match(await answered.text(), /guildhall_secrets_calls_total/)
})
