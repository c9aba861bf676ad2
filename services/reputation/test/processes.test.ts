import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { applyTopology, connectBus } from '@guildhall/bus'
import { connectDb } from '@guildhall/db'
import { createLogger } from '@guildhall/runtime'
import { createDatabase, freePort, startNats, startService } from '@guildhall/testing'
import t from 'tap'
import { tableRows } from './rows.ts'

const run = promisify(execFile)
const log = createLogger({ service: 'reputation-test', level: 'silent' })

/** From dist/test/. */
const entry = (name: string): string => fileURLToPath(new URL(`../src/${name}.js`, import.meta.url))

t.test('migrate, start, reconcile, recompute and stop, as processes', async (t) => {
  const nats = await startNats()
  t.teardown(() => nats.stop())
  const bus = await connectBus({ url: nats.url, service: 'reputation', log })
  await applyTopology(bus)
  await bus.close()
  const { url } = await createDatabase()
  const port = await freePort()
  const env = {
    PATH: process.env.PATH,
    NODE_ENV: 'test',
    LOG_LEVEL: 'warn',
    NATS_URL: nats.url,
    DATABASE_URL: url,
    OPS_PORT: `${port}`,
  }
  const once = async (name: string) =>
    (await run(process.execPath, [entry(name)], { env })).stdout.trim().split('\n')
  await once('migrate')
  await once('migrate')
  const service = await startService({
    entry: entry('main'),
    name: 'reputation',
    env,
    readyUrl: `http://127.0.0.1:${port}/ready`,
  })
  t.teardown(() => service.stop())
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  t.match(metrics, /guildhall_reputation_quarantines_total 0/)
  t.strictSame(await once('recompute'), ['{"scores":0,"evidence":0,"differences":0}'])
  t.strictSame(await once('reconcile'), [
    '{"standings":{"seen":0,"written":0},"agents":{"seen":0,"written":0}}',
  ])
  const db = connectDb(url, { log, max: 1 })
  await tableRows(
    db,
    `insert into evidence (event_id, user_id, agent_id, config_hash, domain, kind, outcome, weight,
       ref, at) values ('e', 1, 1, 'h', 'docs', 'lapsed', 0.2, 1, '', now())`,
  )
  await db.destroy()
  const failed = await once('recompute').catch((error: unknown) => error)
  t.match(failed, { code: 1, stdout: /"field":"missing".*\n.*"differences":1/ })

  t.strictSame(await service.stop(), { code: 0, signal: null })
})
