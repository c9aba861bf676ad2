import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { publish } from '@guildhall/bus'
import { commandRequested } from '@guildhall/contracts'
import { freePort, startNats, startService, waitFor } from '@guildhall/testing'
import t from 'tap'
import { processesWith, setup } from './setup.ts'

/** From dist/test/. */
const MAIN = fileURLToPath(new URL('../src/main.js', import.meta.url))

t.test('a command longer than the ack wait runs once', async (t) => {
  const s = await setup(t)
  const task = await s.request(['sh', '-c', 'echo run >> runs; sleep 13'], { timeout_sec: 60 })
  t.match(await s.verdict(task), { outcome: 'passed' })

  t.equal(readFileSync(`${s.goal}/runs`, 'utf8'), 'run\n')
  await waitFor(async () => (await s.consumer()).num_ack_pending === 0, { what: 'the ack' })
  t.equal((await s.consumer()).num_redelivered, 0)
})

t.test('so many at once, and the rest waits in the stream', async (t) => {
  const s = await setup(t, { at_once: 2 })
  const command = ['sh', '-c', 'until test -e go; do sleep 0.1; done']
  const tasks = [await s.request(command), await s.request(command), await s.request(command)]
  const both = async () => (await s.consumer()).num_ack_pending === 2
  await waitFor(both, { what: 'two that are handed out' })
  await waitFor(() => existsSync(s.goal), { what: 'their folder' })
  t.equal((await s.consumer()).num_pending, 1)
  writeFileSync(`${s.goal}/go`, '')

  for (const task of tasks) t.match(await s.verdict(task), { outcome: 'passed' })
})

t.test('a stop ends the command and tells nobody; the next worker runs it', async (t) => {
  const s = await setup(t)
  const script = 'if test -e seen; then echo again; else touch seen; sleep 50.0123; fi'
  const task = await s.request(['sh', '-c', script], { timeout_sec: 60 })
  await waitFor(() => existsSync(`${s.goal}/seen`), { what: 'the first run' })
  const started = performance.now()
  await s.stop()
  await s.stop()
  const took_ms = performance.now() - started

  t.ok(took_ms < 10_000, `${took_ms} ms`)
  t.strictSame(await processesWith('50.0123'), [])
  t.strictSame(await s.finished(task), [])
  t.equal((await s.consumer()).num_ack_pending + (await s.consumer()).num_pending, 1)
  const next = await setup(t, { root: s.root })
  t.match(await next.verdict(task), { outcome: 'passed', output: 'again\n' })
})

t.test('what cannot be read is a dead letter, and holds nothing up', async (t) => {
  const s = await setup(t)
  const before = (await s.bus.jsm.streams.info('DEAD')).state.messages
  await publish(s.bus, commandRequested.subject, { v: 2 })

  t.match(await s.run(['true']), { outcome: 'passed' })
  await waitFor(async () => (await s.bus.jsm.streams.info('DEAD')).state.messages === before + 1, {
    what: 'the dead letter',
  })
})

t.test('the bus goes away while a command runs: the verdict comes all the same', async (t) => {
  const nats = await startNats()
  t.teardown(() => nats.kill())
  const s = await setup(t, { nats })
  const task = await s.request(['sh', '-c', 'touch running; until test -e go; do sleep 0.1; done'])
  await waitFor(() => existsSync(`${s.goal}/running`), { what: 'the run' })
  await nats.kill()
  writeFileSync(`${s.goal}/go`, '')
  await nats.restart()

  t.match(await s.verdict(task), { outcome: 'passed' })
  t.equal((await s.finished(task)).length, 1)
})

t.test(
  'a worker that is killed leaves a command; the next one ends it and runs it again',
  async (t) => {
    const nats = await startNats()
    t.teardown(() => nats.stop())
    const s = await setup(t, { nats, start: false })
    const port = await freePort()
    const service = await startService({
      entry: MAIN,
      name: 'verifier',
      env: {
        NODE_ENV: 'test',
        LOG_LEVEL: 'warn',
        NATS_URL: nats.url,
        OPS_PORT: `${port}`,
        VERIFIER_ROOT: s.root,
        NATS_PASSWORD: 'hidden-from-commands',
      },
      readyUrl: `http://127.0.0.1:${port}/ready`,
    })
    t.teardown(() => service.stop())
    const script = 'env; if test -e seen; then exit 0; fi; touch seen; sleep 60.0123'
    const task = await s.request(['sh', '-c', script], { timeout_sec: 60 })
    await waitFor(() => existsSync(`${s.goal}/seen`), { what: 'the first run', timeout_ms: 30_000 })
    await service.kill()
    t.equal((await processesWith('sleep\u000060.0123')).length, 1, 'nobody ended it')
    await service.restart()

    const verdict = await s.verdict(task)
    t.match(verdict, { outcome: 'passed', exit_code: 0 })
    t.notMatch(verdict.output, /NATS|hidden/)
    t.strictSame(await processesWith('60.0123'), [])
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    t.match(metrics, /guildhall_verifier_commands_total\{outcome="passed"\} 1/)
    t.strictSame(await service.stop(), { code: 0, signal: null })
  },
)
