import { Writable } from 'node:stream'
import t from 'tap'
import { z } from 'zod'
import { ConfigError, createLogger, interval, loadConfig, opsServer } from '../src/index.ts'

t.test('a bad environment is reported with all its faults', async (t) => {
  const schema = z.object({ PORT: z.coerce.number().int(), URL: z.url(), OK: z.string() })
  try {
    loadConfig(schema, { PORT: 'x', OK: 'yes' })
    t.fail('expected a ConfigError')
  } catch (error) {
    t.type(error, ConfigError)
    t.match((error as Error).message, /PORT:[\s\S]*URL:/)
  }
  t.ok(Object.isFrozen(loadConfig(schema, { PORT: '1', URL: 'http://a', OK: 'y' })))
})

t.test('secrets are redacted wherever they stand in a log line', async (t) => {
  const lines: string[] = []
  const destination = new Writable({
    write: (chunk, _encoding, done) => {
      lines.push(String(chunk))
      done()
    },
  })
  const log = createLogger({ service: 'x', destination })
  log.info({ token: 's3cret', a: { lease_token: 's3cret' }, b: { c: { password: 's3cret' } } }, 'm')
  log.info({ headers: { authorization: 'Bearer s3cret' } }, 'm')
  t.equal(lines.length, 2)
  t.notMatch(lines.join(''), /s3cret/)
})

t.test(
  'a periodic job never overlaps itself, survives a failure and stops when told',
  async (t) => {
    const log = createLogger({ service: 'x', level: 'silent' })
    let running = 0
    let runs = 0
    let overlapped = false
    let enough = (): void => undefined
    const three = new Promise<void>((resolve) => {
      enough = resolve
    })
    const job = interval({
      name: 'job',
      every_ms: 1,
      log,
      run: async () => {
        running += 1
        overlapped ||= running > 1
        await new Promise((resolve) => setImmediate(resolve))
        running -= 1
        runs += 1
        if (runs === 3) enough()
        throw new Error('fails each time')
      },
    })
    await job.stop()
    await job.start()
    await Promise.all([job.now(), job.now()])
    await three
    await job.stop()
    const after = runs
    await job.stop()
    t.notOk(overlapped)
    t.equal(runs, after)
  },
)

t.test('/health says alive, /ready says what is missing', async (t) => {
  let database = false
  const { freePort } = await import('@guildhall/testing')
  const port = await freePort()
  const server = opsServer({
    host: '127.0.0.1',
    port,
    service: 'x',
    ready: async () => ({ bus: true, database }),
  })
  await server.start()
  t.teardown(() => server.stop())
  const get = async (path: string) => await fetch(`http://127.0.0.1:${port}${path}`)
  t.equal((await get('/health')).status, 200)
  const down = await get('/ready')
  t.equal(down.status, 503)
  t.strictSame(await down.json(), { ready: false, dependencies: { bus: true, database: false } })
  database = true
  t.equal((await get('/ready')).status, 200)
  t.match(await (await get('/metrics')).text(), /process_cpu/)
})
