import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { freePort, startService, waitFor } from '../src/index.ts'

const SERVER = `
import { createServer } from 'node:http'
createServer((_, reply) => reply.end('ok')).listen(Number(process.env.PORT), '127.0.0.1', () =>
  console.log('listening as ' + process.env.NAME))
if (process.env.STUBBORN) process.on('SIGTERM', () => console.log('no'))
`

const setup = async (t: Test, env: NodeJS.ProcessEnv = {}) => {
  const entry = join(t.testdir(), 'server.mjs')
  writeFileSync(entry, SERVER)
  const port = await freePort()
  const readyUrl = `http://127.0.0.1:${port}/`
  const options = { entry, name: 'fake', readyUrl, env: { PORT: `${port}`, NAME: 'one', ...env } }
  return { options, readyUrl }
}

t.test('a service is ready, logs, and stops on SIGTERM', async (t) => {
  const { options } = await setup(t)
  const service = await startService({ ...options, readyLine: 'listening' })
  t.match(service.logs(), 'listening as one')
  t.strictSame(await service.stop(), { code: null, signal: 'SIGTERM' })
  t.equal(service.running, false)
})

t.test('a service that ignores SIGTERM is killed after the deadline', async (t) => {
  const { options } = await setup(t, { STUBBORN: '1' })
  const service = await startService(options)
  t.strictSame(await service.stop({ deadline_ms: 200 }), { code: null, signal: 'SIGKILL' })
})

t.test('a paused service does not answer, a resumed one does', async (t) => {
  const { options, readyUrl } = await setup(t)
  const service = await startService(options)
  service.pause()
  await t.rejects(fetch(readyUrl, { signal: AbortSignal.timeout(300) }))
  service.resume()
  t.equal((await fetch(readyUrl)).status, 200)
  service.pause()
  await service.stop()
})

t.test('a restart after a kill takes a changed environment and keeps the logs', async (t) => {
  const { options } = await setup(t)
  const service = await startService(options)
  const pid = service.pid
  await service.kill()
  await service.restart({ NAME: 'two' })
  t.not(service.pid, pid)
  await waitFor(() => service.logs().includes('as two'), { what: 'the log of the second start' })
  t.match(service.logs(), 'listening as one')
  await service.stop()
})

t.test('a service that ends at its start is reported with its output', async (t) => {
  const entry = join(t.testdir(), 'broken.mjs')
  writeFileSync(entry, `console.error('config: PORT is missing'); process.exit(3)`)
  await t.rejects(
    startService({ entry, name: 'broken', readyLine: 'listening', env: {} }),
    /broken ended at its start \(3\):\nconfig: PORT is missing/,
  )
})
